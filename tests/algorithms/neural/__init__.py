"""Tests of networks."""
