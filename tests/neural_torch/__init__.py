"""Tests of networks that are torch modules."""
