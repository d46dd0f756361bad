"""The numbers of Tables 2, 3 and 4 of Xue 2021, in percent."""

from __future__ import annotations

from typing import Final, NamedTuple

from pairdp.studies.learning import Goal

APPROXIMATE, PURE = "δ = 1/n", "pure ε"
STRONG, GENERAL = "OffPairStrC without noise", "OffPairC without noise"
REGULARIZATION: Final[dict[Goal, float]] = {"ranking": 1e-3, "metric": 1e-2}


class Block(NamedTuple):
    """Rows of a table for one data set and one kind of budget."""

    dataset: str
    budget: str
    rows: dict[str, tuple[float, ...]]


SIZES: Final = (128, 256, 512)
TABLE_2: Final = (
    Block("diabetes", APPROXIMATE, {
        STRONG: (71.40, 72.39, 72.88),
        "OffPairStrC": (63.69, 64.55, 64.63),
        "DPGDSC": (64.03, 64.68, 65.85),
        GENERAL: (71.73, 72.52, 72.97),
        "OffPairC": (64.20, 64.64, 65.87),
        "DPGDC2": (71.30, 71.91, 72.46),
        "DPEGD": (71.29, 72.21, 72.84),
    }),
    Block("retinopathy", APPROXIMATE, {
        STRONG: (62.82, 63.84, 65.01),
        "OffPairStrC": (60.72, 62.14, 63.59),
        "DPGDSC": (59.72, 62.82, 65.13),
        GENERAL: (61.57, 63.86, 65.03),
        "OffPairC": (60.94, 62.85, 63.29),
        "DPGDC2": (62.32, 63.09, 64.35),
        "DPEGD": (62.95, 65.21, 66.36),
    }),
    Block("diabetes", PURE, {
        STRONG: (71.71, 71.99, 72.56),
        "OffPairStrC": (64.37, 65.64, 66.77),
        "DPGDSC": (64.51, 65.28, 67.16),
        GENERAL: (71.80, 72.47, 72.80),
        "OffPairC": (64.97, 65.58, 67.28),
        "DPEGD": (70.37, 71.16, 71.24),
    }),
    Block("retinopathy", PURE, {
        STRONG: (62.39, 63.13, 65.49),
        "OffPairStrC": (59.32, 61.00, 61.78),
        "DPGDSC": (59.48, 61.07, 62.01),
        GENERAL: (61.84, 63.42, 65.31),
        "OffPairC": (59.55, 60.70, 61.77),
        "DPEGD": (63.41, 64.51, 66.54),
    }),
)  # fmt: skip
"""Metric learning: accuracy of 3-NN by training size, at ε = 1."""

EPSILONS_3: Final = (0.2, 0.5, 0.8, 1.0, 1.5, 2.0)
TABLE_3: Final = (
    Block("diabetes", APPROXIMATE, {
        "OffPairStrC": (63.49, 63.50, 63.93, 63.44, 63.53, 64.26),
        "DPGDSC": (64.18, 64.92, 65.72, 63.91, 64.01, 64.29),
        "OffPairC": (63.59, 63.63, 63.97, 63.71, 63.96, 65.07),
        "DPGDC2": (71.72, 70.61, 72.11, 71.05, 70.83, 71.36),
        "DPEGD": (71.46, 71.49, 71.66, 71.32, 71.50, 71.45),
    }),
    Block("retinopathy", APPROXIMATE, {
        "OffPairStrC": (60.30, 60.40, 60.47, 63.44, 63.53, 64.26),
        "DPGDSC": (60.63, 61.81, 62.57, 63.91, 64.01, 64.29),
        "OffPairC": (60.21, 60.29, 60.71, 63.71, 63.96, 65.07),
        "DPGDC2": (61.27, 61.79, 60.87, 71.05, 70.83, 71.36),
        "DPEGD": (62.58, 62.84, 62.89, 71.32, 71.50, 71.45),
    }),
    Block("diabetes", PURE, {
        "OffPairStrC": (64.28, 64.49, 64.53, 64.38, 64.40, 64.84),
        "DPGDSC": (64.45, 64.84, 64.84, 64.63, 64.79, 64.81),
        "OffPairC": (64.34, 64.38, 64.49, 64.09, 64.29, 64.30),
        "DPEGD": (70.28, 70.49, 70.51, 70.48, 70.59, 70.82),
    }),
    Block("retinopathy", PURE, {
        "OffPairStrC": (59.54, 59.57, 59.60, 64.38, 64.40, 64.84),
        "DPGDSC": (59.60, 59.70, 59.50, 64.63, 64.79, 64.81),
        "OffPairC": (59.54, 59.59, 59.80, 64.09, 64.29, 64.30),
        "DPEGD": (62.87, 62.84, 62.87, 70.48, 70.59, 70.82),
    }),
)  # fmt: skip
"""Metric learning: accuracy of 3-NN by ε; n = 128 in the caption, 512 in the text."""

EPSILONS_4: Final = (0.5, 0.8, 1.0, 2.0)
TABLE_4: Final = (
    Block("diabetes", APPROXIMATE, {
        "OffPairStrC": (53.71, 56.05, 59.52, 64.93),
        "DPGDSC": (63.26, 63.92, 64.46, 65.51),
        "OffPairC": (52.01, 52.62, 54.51, 57.44),
        "DPGDC2": (52.94, 53.09, 54.61, 59.96),
        "DPEGD": (64.52, 64.47, 64.41, 64.37),
    }),
    Block("retinopathy", APPROXIMATE, {
        "OffPairStrC": (56.33, 59.27, 62.92, 67.01),
        "DPGDSC": (65.65, 66.30, 67.23, 67.04),
        "OffPairC": (50.08, 52.90, 54.27, 62.92),
        "DPGDC2": (54.37, 58.06, 60.03, 60.44),
        "DPEGD": (66.19, 66.21, 66.29, 66.09),
    }),
    Block("diabetes", PURE, {
        "OffPairStrC": (50.65, 56.45, 59.94, 64.13),
        "DPGDSC": (59.16, 62.98, 62.67, 64.63),
        "OffPairC": (50.25, 50.90, 52.57, 60.13),
        "DPEGD": (59.16, 64.35, 64.50, 64.47),
    }),
    Block("retinopathy", PURE, {
        "OffPairStrC": (52.24, 54.74, 57.54, 66.25),
        "DPGDSC": (62.75, 64.56, 65.47, 66.94),
        "OffPairC": (52.26, 50.13, 51.43, 58.06),
        "DPEGD": (66.34, 66.50, 66.04, 66.38),
    }),
)  # fmt: skip
"""AUC maximisation: AUC by ε, at n = 256."""
