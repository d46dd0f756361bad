"""Noise: where it comes from, and how it is added."""
