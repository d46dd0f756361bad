"""Finding, fetching and checking data sets; none is needed here but those that are installed."""

from __future__ import annotations

import hashlib
import re
from dataclasses import replace
from importlib.resources import files
from pathlib import Path
from urllib.error import URLError

import numpy as np
import pytest

from pairdp.studies.data import CATALOG, DATA_VARIABLE, DatasetError, load, loader
from pairdp.studies.data.convert import delimited

RAW = b"1,0.5,7\n0,?,9\n"
CSV = "a,b,label\n0.5,7,1\n?,9,0\n"
SHIPPED = ("retinopathy", "hepatitis", "cancer_original")


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A small data set instead of diabetes, and a cache of its own."""
    small = replace(
        CATALOG["diabetes"],
        columns=("a", "b"),
        sha256=hashlib.sha256(CSV.encode()).hexdigest(),
        convert=delimited(("a", "b"), label=0, classes={"0": "0", "1": "1"}),
    )
    monkeypatch.setitem(CATALOG, "diabetes", small)
    monkeypatch.delenv(DATA_VARIABLE, raising=False)
    monkeypatch.setattr(loader, "cache_directory", lambda: tmp_path / "cache")
    return tmp_path / "cache" / "diabetes.csv"


def forbidden(url: str) -> bytes:
    raise AssertionError(f"{url} was fetched")


def test_it_is_downloaded_once_converted_and_cached(cache: Path) -> None:
    asked = []

    def fetch(url: str) -> bytes:
        asked.append(url)
        return RAW

    first = load("diabetes", fetch=fetch)
    assert asked == [CATALOG["diabetes"].url]
    assert cache.read_text() == CSV
    again = load("diabetes", fetch=forbidden)
    for dataset in (first, again):
        np.testing.assert_array_equal(dataset.x, [[0.5, 7], [np.nan, 9]])
        np.testing.assert_array_equal(dataset.y, [1, -1])
        assert not dataset.x.flags.writeable
        assert dataset.name == "diabetes"


@pytest.mark.parametrize("error", [URLError("no route"), TimeoutError("slow"), OSError("down")])
def test_offline_is_said_clearly_and_leaves_nothing(cache: Path, error: Exception) -> None:
    def fetch(url: str) -> bytes:
        raise error

    with pytest.raises(DatasetError, match=r"could not be downloaded.*--data or in PAIRDP_DATA"):
        load("diabetes", fetch=fetch)
    assert not cache.exists()


@pytest.mark.parametrize("served", [b"0,0.5,7\n0,?,9\n", b"<html>moved</html>", b"\xff\xfe", b""])
def test_other_data_is_refused_and_not_cached(cache: Path, served: bytes) -> None:
    with pytest.raises(DatasetError, match="is not the data set"):
        load("diabetes", fetch=lambda url: served)
    assert not cache.exists()


def test_a_directory_goes_before_the_environment_and_the_cache(
    cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    given, named = tmp_path / "given", tmp_path / "named"
    for directory in (given, named):
        directory.mkdir()
    (given / "diabetes.csv").write_text(CSV)
    monkeypatch.setenv(DATA_VARIABLE, str(named))
    assert load("diabetes", given, fetch=forbidden).x.shape == (2, 2)
    with pytest.raises(DatasetError, match=r"named.diabetes\.csv cannot be read"):
        load("diabetes", fetch=forbidden)
    (named / "diabetes.csv").write_text(CSV)
    assert load("diabetes", fetch=forbidden).x.shape == (2, 2)


def test_a_changed_file_is_refused(cache: Path, tmp_path: Path) -> None:
    (tmp_path / "diabetes.csv").write_text(CSV.replace("0.5", "0.6"))
    with pytest.raises(DatasetError, match="is not the data set: its sha256 is"):
        load("diabetes", tmp_path)
    cache.parent.mkdir()
    cache.write_text(CSV + "\n")
    with pytest.raises(DatasetError, match="remove it to download it again"):
        load("diabetes", fetch=forbidden)


def test_unknown_names_and_plain_addresses_are_refused() -> None:
    with pytest.raises(ValueError, match="known: diabetes"):
        load("iris")
    with pytest.raises(ValueError, match="only https"):
        loader.fetch_url("http://example.org/data")


def test_the_cache_is_the_users(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loader.sys, "platform", "linux")
    monkeypatch.setenv("XDG_CACHE_HOME", "somewhere")
    assert loader.cache_directory() == Path("somewhere/pairdp")


def test_scikit_learns_cancer_data_is_the_right_one() -> None:
    dataset = load("cancer_wdbc")
    assert dataset.x.shape == (569, 30)
    assert int((dataset.y > 0).sum()) == 212  # malignant


@pytest.mark.parametrize("name", SHIPPED)
def test_data_sets_with_a_licence_come_with_the_package(cache: Path, name: str) -> None:
    assert "CC BY 4.0" in CATALOG[name].citation
    dataset = load(name, fetch=forbidden)
    assert dataset.x.shape == (CATALOG[name].rows, len(CATALOG[name].columns))
    # A directory without the file does not hide them.
    assert load(name, cache.parents[1], fetch=forbidden).x.shape == dataset.x.shape


def test_a_directory_goes_before_what_comes_with_the_package(tmp_path: Path) -> None:
    (tmp_path / "hepatitis.csv").write_text("age,label\n1,1\n")
    with pytest.raises(DatasetError, match=r"hepatitis\.csv is not the data set"):
        load("hepatitis", tmp_path)


def test_the_shipped_files_are_attributed_with_their_sizes() -> None:
    place = files("pairdp.studies.data").joinpath("files")
    shipped = sorted(each.name for each in place.iterdir() if each.name.endswith(".csv"))
    assert shipped == sorted(f"{name}.csv" for name in SHIPPED)
    text = place.joinpath("ATTRIBUTION.md").read_text("utf-8")
    for name in SHIPPED:
        size = len(place.joinpath(f"{name}.csv").read_bytes())
        (row,) = [line for line in text.splitlines() if f"| `{name}.csv`" in line]
        assert f"| {size:,} |".replace(",", " ") in row
        (identifier,) = re.findall(r"doi:\S+?(?=,)", CATALOG[name].citation)
        assert identifier in row
