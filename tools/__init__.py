"""Checks of what is released: the distributions, and the versions of their dependencies."""
