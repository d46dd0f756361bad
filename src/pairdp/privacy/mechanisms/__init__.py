"""Mechanisms that add noise, and the source of noise."""
