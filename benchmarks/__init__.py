"""Benchmarks: each prints ratios to something measured in the same run."""
