"""Public ranges of every feature, chosen from its meaning and not from the records.

They are round numbers that follow from what a feature is (grades from 1 to 10, yes or no, blood
pressure in mm Hg). Values outside are clipped. A missing value is replaced by a public constant:
what is typical of the feature, or the middle of its range. The ranges of the diagnostic cancer set
are informed by the records: all lie slightly above the maxima listed in its own description.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from pairdp.studies.data.catalog import CATALOG


class Range(NamedTuple):
    """Bounds of a feature, and the value that replaces a missing one."""

    lower: float
    upper: float
    typical: float
    zero_is_missing: bool = False


_FLAG = Range(0, 1, 0.5)
_YES_OR_NO = Range(1, 2, 1.5)
_GRADE = Range(1, 10, 1)
_MICROANEURYSMS = Range(0, 100, 20)

_DIABETES = {
    "pregnancies": Range(0, 15, 3),
    "glucose": Range(50, 200, 120, zero_is_missing=True),  # mg/dl, two hours after 75 g
    "blood_pressure": Range(40, 120, 75, zero_is_missing=True),  # diastolic, mm Hg
    "skin_thickness": Range(5, 60, 25, zero_is_missing=True),  # triceps fold, mm
    "insulin": Range(0, 400, 100, zero_is_missing=True),  # two hours, mU/l
    "bmi": Range(15, 55, 30, zero_is_missing=True),  # kg/m²
    "diabetes_pedigree": Range(0, 1.5, 0.5),
    "age": Range(20, 80, 40),
}
# A detector finds fewer lesions at higher confidence. Distances are in diameters of the field of
# view; macula and optic disc are about half of one apart.
_RETINOPATHY = {
    "quality": _FLAG,
    "prescreening": _FLAG,
    **{f"ma_{level}": _MICROANEURYSMS for level in ("0.5", "0.6", "0.7", "0.8", "0.9", "1.0")},
    "exudate_1": Range(0, 100, 10),
    "exudate_2": Range(0, 100, 10),
    "exudate_3": Range(0, 50, 5),
    "exudate_4": Range(0, 50, 5),
    "exudate_5": Range(0, 20, 1),
    "exudate_6": Range(0, 20, 1),
    "exudate_7": Range(0, 10, 0),
    "exudate_8": Range(0, 10, 0),
    "macula_opticdisc_distance": Range(0.3, 0.7, 0.5),
    "opticdisc_diameter": Range(0.05, 0.2, 0.1),
    "am_fm_classification": _FLAG,
}
_HEPATITIS = {
    "age": Range(10, 80, 40),
    **dict.fromkeys(CATALOG["hepatitis"].columns[1:13], _YES_OR_NO),  # sex to varices
    "bilirubin": Range(0, 5, 1),  # mg/dl
    "alk_phosphate": Range(20, 300, 90),  # U/l
    "sgot": Range(0, 400, 50),  # U/l
    "albumin": Range(2, 6, 4),  # g/dl
    "protime": Range(0, 100, 70),  # % of normal
    "histology": _YES_OR_NO,
}
_ORIGINAL = dict.fromkeys(CATALOG["cancer_original"].columns, _GRADE)
# Cell nuclei, in micrometres or without unit: means, standard errors, means of the worst three.
_UPPER = {
    "radius": (30, 3, 40),
    "texture": (40, 5, 50),
    "perimeter": (200, 25, 260),
    "area": (2600, 550, 4300),
    "smoothness": (0.2, 0.04, 0.25),
    "compactness": (0.4, 0.15, 1.1),
    "concavity": (0.5, 0.4, 1.3),
    "concave_points": (0.25, 0.06, 0.3),
    "symmetry": (0.35, 0.08, 0.7),
    "fractal_dimension": (0.1, 0.03, 0.21),
}
_WDBC = {
    form.format(name): Range(0, upper[i], upper[i] / 2)
    for i, form in enumerate(("mean_{}", "{}_error", "worst_{}"))
    for name, upper in _UPPER.items()
}

PUBLIC_RANGES: Final[dict[str, dict[str, Range]]] = {
    "diabetes": _DIABETES,
    "retinopathy": _RETINOPATHY,
    "hepatitis": _HEPATITIS,
    "cancer_original": _ORIGINAL,
    "cancer_wdbc": _WDBC,
}
"""Ranges by data set and feature."""
