"""The container of all files: arrays as raw numbers, everything else as checked JSON, no code.

The format is safetensors: a JSON header and the bytes of the arrays, whose sizes are checked when
they are read. Its metadata contains a sealed JSON document with a digest of every array.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save as to_bytes

from pairdp._files import Draft, NotDurableError, destination
from pairdp._sealed import fields_of, seal, unseal
from pairdp._version import __version__
from pairdp.storage.errors import ModelFileError, NotDurableFileError

Arrays = dict[str, NDArray[np.float64]]
_KEY = "pairdp"


@dataclass(frozen=True)
class FileKind:
    """A kind of file.

    Parameters
    ----------
    format : str
        The name of the format in the file.
    version : int
        The version that is written, and the newest that is read.
    noun : str
        What errors call the file, such as "model".
    fields : frozenset of str
        The fields of its header, besides format, versions and arrays.
    """

    format: str
    version: int
    noun: str
    fields: frozenset[str]

    def write(
        self, path: Path, header: Mapping[str, Any], arrays: Arrays, *, secret: bool = False
    ) -> None:
        """Write a file atomically; a secret one must be new and is readable by its owner only."""
        draft = self.draft(path, header, arrays, secret=secret)
        self.publish(draft, path, secret=secret)

    def draft(
        self, path: Path, header: Mapping[str, Any], arrays: Arrays, *, secret: bool = False
    ) -> Draft:
        """Write a file to disk under a temporary name."""
        document = {
            "format": self.format,
            "format_version": self.version,
            "library_version": __version__,
            **header,
            "arrays": {name: _describe(array) for name, array in arrays.items()},
        }
        with self._write_errors(path):
            if secret and path.exists():
                raise FileExistsError
            if not destination(path).parent.is_dir():
                raise ModelFileError(f"there is no directory {path.parent} to save into")
            content = to_bytes(arrays, metadata={_KEY: seal(document)})
            return Draft(path, content, secret=secret)

    def publish(self, draft: Draft, path: Path, *, secret: bool = False) -> None:
        """Give a draft its final name; if that fails, it is removed."""
        try:
            with self._write_errors(path):
                if secret:
                    draft.publish_new()
                else:
                    draft.publish()
        except KeyboardInterrupt:
            if draft.is_published:
                raise KeyboardInterrupt(f"interrupted: the {self.noun} is in {path}") from None
            raise
        finally:
            draft.discard()

    @contextmanager
    def _write_errors(self, path: Path) -> Iterator[None]:
        """Turn errors of writing into sentences."""
        try:
            yield
        except FileExistsError:
            raise ModelFileError(
                f"{path} already exists: choose a new name, so that no {self.noun} is overwritten"
            ) from None
        except NotDurableError as error:
            raise NotDurableFileError(
                f"the {self.noun} {path} was written but might not survive a crash: "
                f"{error.strerror}"
            ) from None
        except OSError as error:
            raise ModelFileError(
                f"the {self.noun} {path} cannot be written: {error.strerror}"
            ) from None
        except ModelFileError:
            raise
        except ValueError as error:  # invalid Unicode, numbers that JSON does not have
            raise ModelFileError(f"the {self.noun} cannot be written: {error}") from None

    def read(self, path: Path) -> tuple[dict[str, Any], Arrays]:
        """Return the checked header and the arrays of a file."""
        if not path.is_file():
            raise ModelFileError(f"there is no file {path}")
        try:
            with safe_open(path, framework="numpy") as file:
                document = (file.metadata() or {}).get(_KEY)
                if document is None:
                    raise ModelFileError(f"{path} is not a pairdp {self.noun}")
                header = self._header(path, document)
                stated = header["arrays"]
                if set(file.keys()) != set(stated):
                    raise ModelFileError(
                        f"the {self.noun} {path} is damaged: arrays are missing or unexpected"
                    )
                for name in stated:
                    if file.get_slice(name).get_dtype() != "F64":
                        raise ModelFileError(f"{name!r} in the {self.noun} {path} has a wrong type")
                arrays = {name: file.get_tensor(name) for name in stated}
        except (SafetensorError, OSError, ValueError) as error:
            if isinstance(error, ModelFileError):
                raise
            raise ModelFileError(
                f"{path} is damaged or not a pairdp {self.noun}: {error}"
            ) from None
        for name, array in arrays.items():
            if _describe(array) != stated[name]:
                raise ModelFileError(
                    f"the {self.noun} {path} is damaged: {name!r} does not match its digest"
                )
        return header, arrays

    def _header(self, path: Path, document: str) -> dict[str, Any]:
        try:
            values = unseal(document)
            if values.get("format") != self.format:
                raise ValueError(f"its format is {values.get('format')!r}")
            version = values.get("format_version")
            is_integer = isinstance(version, int) and not isinstance(version, bool)
            if is_integer and version > self.version:  # type: ignore[operator]
                raise ModelFileError(
                    f"the {self.noun} {path} has format {version}, made by pairdp "
                    f"{values.get('library_version')}; this version reads up to {self.version}: "
                    "use a newer pairdp"
                )
            if repr(version) != repr(self.version):
                raise ValueError(
                    f"format version {version!r} is unknown to this pairdp, which reads "
                    f"{self.version}"
                )
            always = {"format", "format_version", "library_version", "arrays"}
            fields = fields_of("header", values, required=always | self.fields)
            if not isinstance(fields["arrays"], Mapping):
                raise ValueError("its header is malformed")
        except ModelFileError:
            raise
        except (ValueError, TypeError) as error:
            raise ModelFileError(f"the {self.noun} {path} is damaged: {error}") from None
        return fields


def _describe(array: NDArray[np.float64]) -> dict[str, Any]:
    raw = np.ascontiguousarray(array, dtype="<f8").tobytes()
    return {"shape": list(array.shape), "sha256": hashlib.sha256(raw).hexdigest()}


def format_of(path: Path) -> str | None:
    """Return the format that a file states, None if it is not a container; nothing is checked."""
    try:
        with safe_open(path, framework="numpy") as file:
            document = json.loads((file.metadata() or {})[_KEY])
    except (SafetensorError, OSError, ValueError, KeyError, RecursionError):
        return None
    found = document.get("format") if isinstance(document, dict) else None
    return found if isinstance(found, str) else None
