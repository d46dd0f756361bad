"""Choosing an algorithm and its hyper-parameters from public facts."""

from pairdp.choice.base import Candidate, Choice

__all__ = ["Candidate", "Choice"]
