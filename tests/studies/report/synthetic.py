"""Made-up results in the form of real ones. None of their numbers was measured."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import cycle
from typing import Any

import numpy as np

from pairdp.privacy import Budget
from pairdp.privacy.bounds.sensitivity import Sensitivity
from pairdp.privacy.certificates.certificate import Certificate
from pairdp.privacy.certificates.release import Release
from pairdp.privacy.mechanisms.additive_noise import GaussianMechanism
from pairdp.studies.results import Cell, Remark, Results

LEVELS = {"OffPairStrC": 0.53, "DPGDSC": 0.62, "DPGDC2": 0.58, "DPEGD": 0.65, "auto": 0.74}
BASELINES = {"Logistic regression (balanced)": 0.83, "difference of class means": 0.81}
RUNS = 20
REMARK = """σ = 2 G √(2 ln(1.25/δ)) / (λ n ε)
  = 2 · 1 · √(2 ln(1.25 · 256)) / (0.001 · 256 · 0.5)
  ≈ 53.1
A unit vector under noise of this size keeps a signal of 1/53.1 = 0.0188 standard deviations."""
STATED = Sensitivity.stated(2 / 256)


def make_certificate(algorithm: str, n: int, epsilon: float, *, true: bool) -> Certificate:
    """Return a certificate whose claim holds or not, as asked."""
    budget = Budget(epsilon, 1 / n)
    right = GaussianMechanism.calibrate(budget, STATED.value, dimension=8)
    used = right if true else GaussianMechanism(STATED.value, right.scale / 3, 8)
    releases = (Release("last iterate", used, STATED, 8),)
    calibration = "certified" if true else "printed"
    return Certificate(algorithm, budget, n, releases, calibration=calibration)


def make_entry(algorithm: str, n: int, epsilon: float, *, true: bool) -> dict[str, Any]:
    """Return a certificate as results carry it."""
    certificate = make_certificate(algorithm, n, epsilon, true=true)
    return {
        "statement": certificate.statement(),
        "epsilon": epsilon,
        "delta": 1 / n,
        "claim_is_proved": certificate.holds,
        "json": certificate.to_dict(),
    }


def make_results() -> Results:
    """Return results with lines, single values, remarks and certificates of both outcomes."""
    certificates: dict[str, dict[str, Any]] = {}
    cells = [*_xue(certificates), *_huai(certificates), *_kang(certificates)]
    remarks = (
        Remark("xue2021", "Table 4", "DPGDSC cannot reach this figure at λ = 0.001", REMARK),
        Remark("huai2020", "", "OnPairStrC needs more records than there are", "1200 > 512"),
    )
    facts = {
        "library version": "0.1.0",
        "permutations": "20",
        "command": "pairdp study all --quick",
        "duration": "93 s",
    }
    return Results(
        "Studies of private pairwise learning", tuple(cells), remarks, certificates, facts
    )


def _xue(certificates: dict[str, dict[str, Any]]) -> Iterator[Cell]:
    rng = np.random.default_rng(1)
    for panel, drop in (("diabetes", 0.0), ("retinopathy", 0.06)):
        for epsilon in (0.5, 0.8, 1.0, 2.0):
            gain = 0.05 * np.log(epsilon + 0.5) - drop
            where = ("xue2021", "Table 4", panel, "AUC")
            for name, level in LEVELS.items():
                if name != "auto":
                    figure = level + gain + 0.02 * rng.standard_normal()
                    yield _cell(*where, name, "paper", "", "ε", epsilon, figure, 0, "")
                for protocol in ("paper", "honest"):
                    for kind in ("printed", "certified") if name != "auto" else ("certified",):
                        value = (level + gain if kind == "certified" else 0.52) - 0.02 * (
                            protocol == "honest"
                        )
                        key = f"{name}-{kind}-{epsilon}"
                        if key not in certificates:
                            true = kind == "certified"
                            certificates[key] = make_entry(name, 256, epsilon, true=true)
                        value += 0.01 * rng.standard_normal()
                        width = rng.uniform(0.006, 0.025)
                        yield _cell(*where, name, kind, protocol, "ε", epsilon, value, width, key)
            for name, level in BASELINES.items():
                for protocol in ("paper", "honest"):
                    yield _cell(
                        *where, name, "baseline", protocol, "ε", epsilon, level - drop, 0.004, ""
                    )


def _huai(certificates: dict[str, dict[str, Any]]) -> Iterator[Cell]:
    rng = np.random.default_rng(2)
    for measure, top in (("objective", 40.0), ("accuracy", 0.72)):
        for n in (100, 200, 400, 800, 1600, 3200):
            for name, weight in (("OffPairStrC", 1.0), ("OffPairC", 1.6), ("auto", 0.2)):
                key = f"{name}-{n}"
                if key not in certificates:
                    certificates[key] = make_entry(name, n, 0.8, true=True)
                if measure == "objective":
                    value = 0.3 + weight * top * (100 / n) ** 1.5
                else:
                    value = top - 0.1 * weight * (100 / n) ** 0.5
                width = 0.08 * value * rng.uniform(0.3, 1)
                where = ("huai2020", "Figure 1", "diabetes", measure)
                yield _cell(
                    *where, name, "certified", "honest", "n", n, value, width, key,
                    note="The smallest size is below the burn-in." if n == 100 else "",
                )  # fmt: skip
            if measure == "accuracy":
                yield _cell(*where, "Euclidean 3-NN", "baseline", "honest", "n", n, 0.7, 0.01, "")


def _kang(certificates: dict[str, dict[str, Any]]) -> Iterator[Cell]:
    where = ("kang2021", "Section 5", "cancer", "AUC")
    for name, value in (("gradient perturbation", 0.91), ("output perturbation", 0.67)):
        certificates[name] = make_entry(name, 400, 1.0, true=True)
        for protocol in ("paper", "honest"):
            yield _cell(*where, name, "certified", protocol, "ε", 1.0, value, 0.02, name)
    yield _cell(*where, "Logistic regression (balanced)", "baseline", "honest", "ε", 1, 0.99, 0, "")


def _cell(
    study: str, exhibit: str, panel: str, measure: str, series: str, kind: str, protocol: str,
    x_name: str, x: float, mean: float, width: float, certificate: str, note: str = "",
) -> Cell:  # fmt: skip
    runs = 0 if kind == "paper" else RUNS
    return Cell(
        study, exhibit, panel, measure, series, kind, protocol, x_name, x, float(mean),
        float(mean - width), float(mean + width), runs, certificate, note,
    )  # fmt: skip


def make_many(cells: int, certificates: int) -> Results:
    """Return results as large as all studies together."""
    rng = np.random.default_rng(3)
    entries = {
        f"{i:064x}": make_entry(
            f"{name} (Xue 2021, Algorithm {i % 5})", 128 + i, 0.5 + i / 100, true=i % 3 > 0
        )
        for i, name in zip(range(certificates), cycle(LEVELS), strict=False)
    }
    keys = list(entries)
    made: list[Cell] = []
    for study, exhibit, panel, measure, protocol, x, series in _places():
        for kind in ("printed", "certified"):
            made.append(
                _cell(
                    study,
                    exhibit,
                    panel,
                    measure,
                    series,
                    kind,
                    protocol,
                    "ε",
                    x,
                    rng.random(),
                    0.1 * rng.random(),
                    keys[len(made) % len(keys)],
                )
            )
            if len(made) == cells:
                return Results("Many", tuple(made), (), entries, {})
    raise ValueError(f"there are places for {len(made)} cells")


def _places() -> Iterator[tuple[str, str, str, str, str, float, str]]:
    studies: Sequence[str] = ("huai2020", "xue2021", "kang2021", "yang2021", "wang2024")
    for study in studies:
        for exhibit in ("Figure 1", "Figure 2", "Figure 3", "Table 2", "Table 3"):
            for panel in ("diabetes", "retinopathy", "hepatitis"):
                for measure in ("AUC", "accuracy"):
                    for protocol in ("paper", "honest"):
                        for x in (0.2, 0.5, 0.8, 1.0, 2.0):
                            for series in LEVELS:
                                yield study, exhibit, panel, measure, protocol, x, series
