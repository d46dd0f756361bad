"""The source of each data set, and the digest of its CSV form."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

from pairdp.studies.data.convert import Converter, delimited

_UCI: Final = "https://archive.ics.uci.edu/ml/machine-learning-databases"


@dataclass(frozen=True)
class Source:
    """A data set in an archive.

    Parameters
    ----------
    name : str
        Its name here; the file is ``NAME.csv``.
    title : str
        Its usual name.
    columns : tuple of str
        Names of the features.
    rows : int
        Number of records.
    sha256 : str
        Digest of the CSV form.
    url : str
        Where to download it; empty if it comes with scikit-learn.
    convert : callable, optional
        From the downloaded text to the CSV form.
    missing : str
        Which values are missing, in words.
    citation : str
        Authors and identifier.
    """

    name: str
    title: str
    columns: tuple[str, ...]
    rows: int
    sha256: str
    url: str
    convert: Converter | None = field(repr=False, compare=False)
    missing: str
    citation: str

    @property
    def file(self) -> str:
        """The file name."""
        return f"{self.name}.csv"


_PIMA = (
    "pregnancies", "glucose", "blood_pressure", "skin_thickness", "insulin", "bmi",
    "diabetes_pedigree", "age",
)  # fmt: skip
_DEBRECEN = (
    "quality", "prescreening",
    "ma_0.5", "ma_0.6", "ma_0.7", "ma_0.8", "ma_0.9", "ma_1.0",
    "exudate_1", "exudate_2", "exudate_3", "exudate_4",
    "exudate_5", "exudate_6", "exudate_7", "exudate_8",
    "macula_opticdisc_distance", "opticdisc_diameter", "am_fm_classification",
)  # fmt: skip
_HEPATITIS = (
    "age", "sex", "steroid", "antivirals", "fatigue", "malaise", "anorexia", "liver_big",
    "liver_firm", "spleen_palpable", "spiders", "ascites", "varices", "bilirubin",
    "alk_phosphate", "sgot", "albumin", "protime", "histology",
)  # fmt: skip
_ORIGINAL = (
    "clump_thickness", "cell_size_uniformity", "cell_shape_uniformity", "marginal_adhesion",
    "epithelial_cell_size", "bare_nuclei", "bland_chromatin", "normal_nucleoli", "mitoses",
)  # fmt: skip
_MEASURES = (
    "radius", "texture", "perimeter", "area", "smoothness", "compactness", "concavity",
    "concave_points", "symmetry", "fractal_dimension",
)  # fmt: skip
_WDBC = (
    *(f"mean_{name}" for name in _MEASURES),
    *(f"{name}_error" for name in _MEASURES),
    *(f"worst_{name}" for name in _MEASURES),
)

_SOURCES = (
    Source(
        name="diabetes",
        title="Pima Indians diabetes",
        columns=_PIMA,
        rows=768,
        sha256="faa96c7df6baad5a52c97015edf5d9dac7eea1743c7004f73a3ebd82fbfbeea1",
        url="https://www.openml.org/data/download/37/dataset_37_diabetes.arff",
        convert=delimited(
            _PIMA,
            label=-1,
            classes={"tested_positive": "1", "tested_negative": "0"},
            decimals={"bmi": 1},
        ),
        missing=(
            "none marked; zeros encode missing glucose, blood pressure, skin thickness, insulin "
            "and body mass index"
        ),
        citation="Smith, Everhart, Dickson, Knowler and Johannes (1988)",
    ),
    Source(
        name="retinopathy",
        title="Diabetic retinopathy Debrecen",
        columns=_DEBRECEN,
        rows=1151,
        sha256="d3a28fc22567980df5770bd12e188c4d60e2252f07ea16b2db836ab0eb96642f",
        url=f"{_UCI}/00329/messidor_features.arff",
        convert=delimited(_DEBRECEN, label=-1, classes={"0": "0", "1": "1"}),
        missing="none",
        citation="Antal and Hajdu (2014), doi:10.24432/C5XP4P, CC BY 4.0",
    ),
    Source(
        name="hepatitis",
        title="Hepatitis",
        columns=_HEPATITIS,
        rows=155,
        sha256="7c0a3bcdff2c1963fe77b0d8f8e2249e1ab006dcb2c726d468ec2d665c2ea710",
        url=f"{_UCI}/hepatitis/hepatitis.data",
        convert=delimited(_HEPATITIS, label=0, classes={"1": "0", "2": "1"}),
        missing="167 values in 75 rows, most of them protime and alk_phosphate",
        citation="Gong (1983), doi:10.24432/C5Q59J, CC BY 4.0",
    ),
    Source(
        name="cancer_original",
        title="Breast cancer Wisconsin (original)",
        columns=_ORIGINAL,
        rows=699,
        sha256="0ad62053c3ea6720548733599111b8c8d8e63b783289128adeb18db214f82fe6",
        url=f"{_UCI}/breast-cancer-wisconsin/breast-cancer-wisconsin.data",
        convert=delimited(_ORIGINAL, label=-1, classes={"2": "0", "4": "1"}, dropped=(0,)),
        missing="16 values of bare_nuclei",
        citation="Wolberg (1990), doi:10.24432/C5HP4Z, CC BY 4.0",
    ),
    Source(
        name="cancer_wdbc",
        title="Breast cancer Wisconsin (diagnostic)",
        columns=_WDBC,
        rows=569,
        sha256="ecf296101214fd4879a4b575347223d56ce0203d01982169263bcac1aae15d6b",
        url="",
        convert=None,
        missing="none",
        citation="Wolberg, Mangasarian and Street (1993), doi:10.24432/C5DW2B, CC BY 4.0",
    ),
)

CATALOG: Final[dict[str, Source]] = {source.name: source for source in _SOURCES}
"""All data sets by name."""
