"""Draws from streams."""

from typing import Any

import numpy as np

from pairdp.privacy import NoiseSource


def draws(stream: np.random.Generator, count: int = 4) -> list[int]:
    return [int(word) for word in stream.bit_generator.random_raw(count)]


def first_draws(source: NoiseSource, *path: Any) -> list[int]:
    return draws(source.stream("noise", *path))
