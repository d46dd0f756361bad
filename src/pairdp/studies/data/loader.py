"""Load a data set from a directory, from this package, from the cache, or by a download."""

from __future__ import annotations

import hashlib
import os
import sys
from collections.abc import Callable
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from pairdp._checks import did_you_mean
from pairdp._files import write_atomically
from pairdp.studies.data.catalog import CATALOG, Source
from pairdp.studies.data.convert import write_rows

DATA_VARIABLE = "PAIRDP_DATA"
"""The environment variable that names a directory of data sets."""

Fetch = Callable[[str], bytes]
_TIMEOUT = 30.0  # seconds


class DatasetError(RuntimeError):
    """A data set is not available, or differs from the expected one."""


@dataclass(frozen=True, eq=False)
class Dataset:
    """Records as in the source: nothing is scaled or imputed.

    Attributes
    ----------
    source : Source
        The source.
    x : array of shape (n, d)
        Features; missing values are NaN.
    y : array of shape (n,)
        Labels -1 and +1.
    """

    source: Source
    x: NDArray[np.float64]
    y: NDArray[np.float64]

    @property
    def name(self) -> str:
        """The name of the data set."""
        return self.source.name


def load(name: str, directory: str | Path | None = None, *, fetch: Fetch | None = None) -> Dataset:
    """Return a data set after checking its digest.

    Parameters
    ----------
    name : str
        "diabetes", "retinopathy", "hepatitis", "cancer_original" or "cancer_wdbc".
    directory : path-like, optional
        The directory of ``NAME.csv``; by default the one that the environment variable
        PAIRDP_DATA names. Data sets that are not there come with pairdp ("retinopathy",
        "hepatitis", "cancer_original") or with scikit-learn ("cancer_wdbc"). Without a directory,
        "diabetes" is read from the cache, into which it is downloaded if absent.
    fetch : callable, optional
        Downloads a URL and returns bytes.

    Raises
    ------
    DatasetError
        If it is not found and cannot be downloaded, or has a different digest.
    """
    if name not in CATALOG:
        raise ValueError(
            f"unknown data set {name!r}; known: {', '.join(CATALOG)}" + did_you_mean(name, CATALOG)
        )
    source = CATALOG[name]
    content = _embedded(source) if not source.url else _found(source, directory, fetch)
    return Dataset(source, *_parsed(content))


def cache_directory() -> Path:
    """Return the directory of downloaded data sets."""
    if sys.platform == "win32":
        base = os.environ.get("LOCALAPPDATA") or str(Path.home() / "AppData" / "Local")
    else:
        base = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    return Path(base) / "pairdp"


def _found(source: Source, directory: str | Path | None, fetch: Fetch | None) -> bytes:
    stated = directory if directory is not None else os.environ.get(DATA_VARIABLE) or None
    shipped = files("pairdp.studies.data").joinpath("files", source.file)
    if stated is not None:
        path = Path(stated) / source.file
        try:
            content = path.read_bytes()
        except FileNotFoundError as error:
            if not shipped.is_file():
                raise DatasetError(f"{path} cannot be read: {error.strerror}") from None
        except OSError as error:
            raise DatasetError(f"{path} cannot be read: {error.strerror}") from None
        else:
            return _checked(source, content, f"{path} is not the data set")
    if shipped.is_file():
        return _checked(source, shipped.read_bytes(), f"{shipped} is not the data set")
    path = cache_directory() / source.file
    if path.is_file():
        again = f"{path} is not the data set; remove it to download it again"
        return _checked(source, path.read_bytes(), again)
    content = _downloaded(source, fetch or fetch_url)
    path.parent.mkdir(parents=True, exist_ok=True)
    write_atomically(path, content)
    return content


def _downloaded(source: Source, fetch: Fetch) -> bytes:
    instead = (
        f"give a directory that contains {source.file} with --data or in {DATA_VARIABLE} (the "
        "documentation describes the file), or run other data sets with --dataset"
    )
    try:
        raw = fetch(source.url)
    except (OSError, ValueError) as error:
        raise DatasetError(
            f"{source.title} could not be downloaded from {source.url} ({error}): connect to the "
            f"network, or {instead}"
        ) from None
    wrong = f"what {source.url} served is not the data set; {instead}"
    try:
        content = source.convert(raw.decode()).encode() if source.convert else raw
    except ValueError as error:
        raise DatasetError(f"{wrong} ({error})") from None
    return _checked(source, content, wrong)


def fetch_url(url: str) -> bytes:
    """Return the content of an https URL."""
    from urllib.request import urlopen

    if not url.startswith("https://"):
        raise ValueError(f"only https URLs are downloaded, not {url}")
    with urlopen(url, timeout=_TIMEOUT) as answer:  # noqa: S310 - checked above
        content: bytes = answer.read()
    return content


def _checked(source: Source, content: bytes, problem: str) -> bytes:
    found = hashlib.sha256(content).hexdigest()
    if found != source.sha256:
        raise DatasetError(
            f"{problem}: its sha256 is {found[:16]}…, that of {source.title} {source.sha256[:16]}…"
        )
    return content


def _embedded(source: Source) -> bytes:
    """Return the data set that comes with scikit-learn, in CSV form."""
    from sklearn.datasets import load_breast_cancer

    data = load_breast_cancer()
    rows = (
        [*map(repr, values), str(1 - int(label))]  # here 1 is malignant
        for values, label in zip(data.data.tolist(), data.target, strict=True)
    )
    content = write_rows(source.columns, rows).encode()
    return _checked(source, content, "this version of scikit-learn has different data")


def _parsed(content: bytes) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    rows = [line.split(",") for line in content.decode().splitlines()[1:]]
    table = np.array([[np.nan if cell == "?" else float(cell) for cell in row] for row in rows])
    x, y = np.ascontiguousarray(table[:, :-1]), np.where(table[:, -1] == 1, 1.0, -1.0)
    x.setflags(write=False)
    y.setflags(write=False)
    return x, y
