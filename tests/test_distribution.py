"""What the wheel and the sdist must contain, and the versions that are tried."""

from __future__ import annotations

from tools.distribution import IN_SDIST, PACKAGE, sdist_faults, wheel_faults
from tools.versions import EXTRAS, ROOT, lowest

FILES = [
    str(path.relative_to(PACKAGE.parent))
    for path in PACKAGE.rglob("*")
    if path.is_file() and "__pycache__" not in path.parts
]
LICENCES = [
    f"pairdp-0.dist-info/licenses/{name}"
    for name in ("LICENSE", "src/pairdp/studies/data/files/ATTRIBUTION.md")
]


def test_a_wheel_has_the_package_and_its_licences_and_nothing_else() -> None:
    assert not wheel_faults([*FILES, *LICENCES])
    assert wheel_faults([*FILES, *LICENCES, "tests/test_package.py"])
    assert wheel_faults(FILES)
    for name in ("pairdp/py.typed", "pairdp/studies/data/files/retinopathy.csv"):
        assert wheel_faults([*(file for file in FILES if file != name), *LICENCES]), name


def test_an_sdist_has_what_the_tests_need_and_no_waste() -> None:
    names = [f"pairdp-0/{name}" for name in IN_SDIST]
    assert not sdist_faults(names)
    assert sdist_faults(names[1:])
    assert sdist_faults([*names, "pairdp-0/src/pairdp/__pycache__/x.pyc"])
    assert all((ROOT / name).exists() for name in IN_SDIST if name != "PKG-INFO")


def test_every_requirement_has_a_lower_bound_that_is_tried() -> None:
    found = dict(line.split("==") for line in lowest(EXTRAS, "3.13"))
    assert {"numpy", "scipy", "scikit-learn", "pyarrow", "numba", "distributed"} <= set(found)


def test_the_lock_file_names_versions_and_no_place() -> None:
    lines = (ROOT / "requirements-dev.lock").read_text("utf-8").splitlines()
    pins = [line for line in lines if line and not line.startswith("#")]
    assert len(pins) > 50
    assert all("==" in line and "/" not in line and "--" not in line for line in pins)
