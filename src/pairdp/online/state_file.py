"""The state of a stream in a file that says whether it holds raw records, and is resumed once."""

from __future__ import annotations

import json
import secrets as random_names
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from pairdp.model_file.codec import decode, decode_plan, encode, encode_plan
from pairdp.model_file.container import FileKind
from pairdp.model_file.errors import NOT_VALID, ModelFileError
from pairdp.online.learner import OnlineAlgorithm
from pairdp.privacy import Certificate, NoiseSource
from pairdp.privacy.noise import SEEDED

if TYPE_CHECKING:
    from pairdp.online.session import OnlineSession

Array = NDArray[np.float64]
_FIELDS = {
    "plan", "certificate", "seen", "labels", "holds_raw_records", "holds_secrets", "face",
}  # fmt: skip
_STREAM = FileKind("pairdp stream", 1, "stream", frozenset(_FIELDS))
_PUBLIC, _SECRET, _FACE = "public.", "secret.", "face."
_WAITING = ("waiting_x", "waiting_y")


def write_state(
    session: OnlineSession,
    path: Path,
    secrets: bool,
    face: dict[str, Any] | None,
    face_arrays: Mapping[str, Array],
) -> None:
    """Write a new file."""
    learner = session._learner
    if not secrets and not learner.resumes_from_public:
        raise ValueError(
            "noise on models cannot go on without the state that has none: save with "
            "secrets=True, or plan noise in gradients"
        )
    if path.exists():
        raise ModelFileError(f"{path} exists: choose a new name, so that no stream is lost")
    arrays = {_PUBLIC + name: value for name, value in learner.public_state().items()}
    arrays |= {_FACE + name: value for name, value in face_arrays.items()}
    if secrets:
        arrays |= {_SECRET + name: value for name, value in learner.secret_state().items()}
        for name, value in zip(_WAITING, (session._x, session._y), strict=True):
            arrays[_SECRET + name] = value[: session._waiting].copy()
    header = {
        "plan": encode_plan(session.plan),
        "certificate": json.loads(session.certificate.to_json()),
        "seen": session.seen,
        "labels": encode(list(session._codes) if secrets else []),
        "holds_raw_records": secrets and session.holds_raw_records,
        "holds_secrets": secrets,
        "face": face,
    }
    _STREAM.write(path, header, {name: np.ascontiguousarray(a) for name, a in arrays.items()})


def stream_header(path: str | Path) -> dict[str, Any]:
    """Return what the file of a stream says of itself, such as ``holds_raw_records``."""
    header, _ = _STREAM.read(Path(path))
    return json.loads(json.dumps(header))  # type: ignore[no-any-return]


@contextmanager
def take(path: Path) -> Iterator[StreamFile]:
    """Take a file away and give what it has; it comes back if anything fails."""
    # Whoever renames it first has it.
    taken = path.with_name(f".{path.name}.{random_names.token_hex(8)}.taken")
    try:
        path.rename(taken)
    except FileNotFoundError:
        raise ModelFileError(
            f"there is no file {path}: the file of a stream is gone once it is resumed"
        ) from None
    except OSError as error:
        raise ModelFileError(f"the stream {path} cannot be taken: {error.strerror}") from None
    try:
        yield StreamFile(taken)
    except NOT_VALID as error:
        taken.replace(path)
        if isinstance(error, ModelFileError):
            raise ModelFileError(str(error).replace(str(taken), str(path))) from None
        raise ModelFileError(f"the stream {path} is not valid: {error}") from None
    except BaseException:
        taken.replace(path)
        raise
    taken.unlink()


class StreamFile:
    """What a file of a stream holds."""

    def __init__(self, path: Path) -> None:
        self._header, self._arrays = _STREAM.read(path)

    def session(self, kind: type[OnlineSession], noise: NoiseSource | None = None) -> OnlineSession:
        """Return the session that goes on."""
        noise = NoiseSource() if noise is None else noise
        header = self._header
        certificate = Certificate.from_json(json.dumps(header["certificate"]))
        plan = decode_plan(header["plan"], certificate)
        if not isinstance(plan.algorithm, OnlineAlgorithm):
            raise ValueError(f"{plan.algorithm.name} is not for streams")
        seen = header["seen"]
        if type(seen) is not int or not 0 <= seen <= plan.task.n:
            raise ValueError("the number of records is not within the horizon")
        session = kind.__new__(kind)
        session._begin(plan, seen, noise)
        # A stream that ever took its noise from a seed stays one.
        seeded = certificate.noise_source == SEEDED
        session.certificate = certificate if seeded else certificate.with_noise_source(noise)
        secret = self._part(_SECRET) if header["holds_secrets"] is True else None
        if secret is not None:
            self._restore_waiting(session, secret)
        session._learner.restore(self._part(_PUBLIC), secret)
        return session

    def _restore_waiting(self, session: OnlineSession, secret: dict[str, Array]) -> None:
        x, y = (secret.pop(name) for name in _WAITING)
        if x.shape != (len(y), session.plan.task.features) or len(y) >= session._batch:
            raise ValueError("the unfinished batch has another shape")
        session._waiting = len(y)
        session._x[: len(y)], session._y[: len(y)] = x, y
        labels = decode(self._header["labels"])
        session._codes = {label: code for code, label in enumerate(labels)}

    def face(self) -> tuple[dict[str, Any], dict[str, Array]]:
        """Return what an estimator added."""
        face = self._header["face"]
        if not isinstance(face, dict):
            raise ValueError("it was saved by a session: use OnlineSession.resume(path)")
        return face, self._part(_FACE)

    def _part(self, prefix: str) -> dict[str, Array]:
        return {
            name.removeprefix(prefix): array
            for name, array in self._arrays.items()
            if name.startswith(prefix)
        }
