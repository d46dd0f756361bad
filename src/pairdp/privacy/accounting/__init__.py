"""Budgets, events, and what they compose to."""
