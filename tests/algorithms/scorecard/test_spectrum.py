"""Spectra of prior covariances, against those of dense ones."""

from __future__ import annotations

import numpy as np
import pytest

from pairdp.algorithms.scorecard import spectrum
from pairdp.algorithms.scorecard.evidence import Smoothing
from pairdp.algorithms.scorecard.spectrum import Spectrum


@pytest.mark.parametrize("diagonal", [True, False])
def test_products_are_those_of_the_covariance(diagonal: bool) -> None:
    rng = np.random.default_rng(0)
    root = np.diag(rng.normal(size=6)) if diagonal else rng.normal(size=(6, 6))
    covariance = root @ root.T
    found = Spectrum.of(covariance)
    assert (found.vectors is None) == diagonal
    inverse = np.linalg.inv(np.eye(6) + covariance)
    left, vector = rng.normal(size=(4, 6)), rng.normal(size=6)
    np.testing.assert_allclose(found.product(left, 1 / (1 + found.values)), left @ inverse)
    squares = found.coordinates(vector) ** 2
    np.testing.assert_allclose((squares / (1 + found.values)).sum(), vector @ inverse @ vector)


def test_categories_need_no_decomposition(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise AssertionError("decomposed")

    rng = np.random.default_rng(1)
    noisy, counts = rng.normal(size=50) * 5, rng.uniform(1, 100, 50)
    monkeypatch.setattr(spectrum.np.linalg, "eigh", refuse)
    found = Smoothing.of(noisy, counts, np.ones(50), 0.4, 2.0, is_number=False, missing=0)
    assert np.abs(found.column().shape).max() > 0
    with pytest.raises(AssertionError, match="decomposed"):
        Smoothing.of(noisy, counts, np.ones(50), 0.4, 2.0, is_number=True, missing=0)
