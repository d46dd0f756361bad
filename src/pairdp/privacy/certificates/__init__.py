"""Certificates: what was released, why it is private, and how to check it."""
