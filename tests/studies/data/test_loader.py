"""Finding, fetching and checking data sets; none is needed here but scikit-learn's."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from pathlib import Path
from urllib.error import URLError

import numpy as np
import pytest

from pairdp.studies.data import CATALOG, DATA_VARIABLE, DatasetError, load, loader
from pairdp.studies.data.convert import delimited

RAW = b"1,0.5,7\n0,?,9\n"
CSV = "a,b,label\n0.5,7,1\n?,9,0\n"


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A small data set instead of hepatitis, and a cache of its own."""
    small = replace(
        CATALOG["hepatitis"],
        columns=("a", "b"),
        sha256=hashlib.sha256(CSV.encode()).hexdigest(),
        convert=delimited(("a", "b"), label=0, classes={"0": "0", "1": "1"}),
    )
    monkeypatch.setitem(CATALOG, "hepatitis", small)
    monkeypatch.delenv(DATA_VARIABLE, raising=False)
    monkeypatch.setattr(loader, "cache_directory", lambda: tmp_path / "cache")
    return tmp_path / "cache" / "hepatitis.csv"


def forbidden(url: str) -> bytes:
    raise AssertionError(f"{url} was fetched")


def test_it_is_downloaded_once_converted_and_cached(cache: Path) -> None:
    asked = []

    def fetch(url: str) -> bytes:
        asked.append(url)
        return RAW

    first = load("hepatitis", fetch=fetch)
    assert asked == [CATALOG["hepatitis"].url]
    assert cache.read_text() == CSV
    again = load("hepatitis", fetch=forbidden)
    for dataset in (first, again):
        np.testing.assert_array_equal(dataset.x, [[0.5, 7], [np.nan, 9]])
        np.testing.assert_array_equal(dataset.y, [1, -1])
        assert not dataset.x.flags.writeable
        assert dataset.name == "hepatitis"


@pytest.mark.parametrize("error", [URLError("no route"), TimeoutError("slow"), OSError("down")])
def test_offline_is_said_clearly_and_leaves_nothing(cache: Path, error: Exception) -> None:
    def fetch(url: str) -> bytes:
        raise error

    with pytest.raises(DatasetError, match=r"could not be downloaded.*--data or in PAIRDP_DATA"):
        load("hepatitis", fetch=fetch)
    assert not cache.exists()


@pytest.mark.parametrize("served", [b"0,0.5,7\n0,?,9\n", b"<html>moved</html>", b"\xff\xfe", b""])
def test_other_data_is_refused_and_not_cached(cache: Path, served: bytes) -> None:
    with pytest.raises(DatasetError, match="is not the data set"):
        load("hepatitis", fetch=lambda url: served)
    assert not cache.exists()


def test_a_directory_goes_before_the_environment_and_the_cache(
    cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    given, named = tmp_path / "given", tmp_path / "named"
    for directory in (given, named):
        directory.mkdir()
    (given / "hepatitis.csv").write_text(CSV)
    monkeypatch.setenv(DATA_VARIABLE, str(named))
    assert load("hepatitis", given, fetch=forbidden).x.shape == (2, 2)
    with pytest.raises(DatasetError, match=r"named.hepatitis\.csv cannot be read"):
        load("hepatitis", fetch=forbidden)
    (named / "hepatitis.csv").write_text(CSV)
    assert load("hepatitis", fetch=forbidden).x.shape == (2, 2)


def test_a_changed_file_is_refused(cache: Path, tmp_path: Path) -> None:
    (tmp_path / "hepatitis.csv").write_text(CSV.replace("0.5", "0.6"))
    with pytest.raises(DatasetError, match="is not the data set: its sha256 is"):
        load("hepatitis", tmp_path)
    cache.parent.mkdir()
    cache.write_text(CSV + "\n")
    with pytest.raises(DatasetError, match="remove it to download it again"):
        load("hepatitis", fetch=forbidden)


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
