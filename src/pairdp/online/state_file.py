"""Files with the state of a stream; each can be resumed once, and says if it holds raw records."""

from __future__ import annotations

import json
import secrets as random_names
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from pairdp._version import __version__
from pairdp.algorithms.comparison import differences
from pairdp.algorithms.plan import Plan
from pairdp.algorithms.stored_plans import plan_again
from pairdp.online.learner import NO_SEED, OnlineAlgorithm
from pairdp.privacy import BudgetLedger, Certificate, LedgerError, NoiseSource
from pairdp.privacy.ledger.entries import random_name
from pairdp.privacy.mechanisms.noise_source import SEEDED
from pairdp.storage import NOT_VALID, FileKind, ModelFileError, Trusted, decode, encode

if TYPE_CHECKING:
    from pairdp.online.session import OnlineSession

Array = NDArray[np.float64]
FORMAT = "pairdp stream"
_FIELDS = {
    "certificate", "seen", "labels", "holds_raw_records", "holds_secrets", "estimator", "ledger",
    "token",
}  # fmt: skip
_STREAM = FileKind(FORMAT, 3, "stream", frozenset(_FIELDS))
_PUBLIC, _SECRET, _ESTIMATOR, _AVERAGE = "public.", "secret.", "estimator.", "average."
_WAITING = ("waiting_x", "waiting_y")


def write_state(
    session: OnlineSession,
    path: Path,
    secrets: bool,
    estimator: dict[str, Any] | None,
    estimator_arrays: Mapping[str, Array],
) -> None:
    """Write a new file, and record it in the ledger of the stream."""
    learner = session._learner
    if not secrets and not learner.resumes_from_public:
        raise ValueError(
            "noise on models cannot continue without the secret state: save with "
            "secrets=True, or plan noise in gradients"
        )
    arrays = {_PUBLIC + name: value for name, value in learner.public_state().items()}
    average = session._average
    arrays[_AVERAGE + "mean"] = average.mean
    arrays[_AVERAGE + "records"] = np.array([float(average.records)])
    arrays |= {_ESTIMATOR + name: value for name, value in estimator_arrays.items()}
    if secrets:
        arrays |= {_SECRET + name: value for name, value in learner.secret_state().items()}
        for name, value in zip(_WAITING, (session._x, session._y), strict=True):
            arrays[_SECRET + name] = value[: session._waiting].copy()
    if session.certificate.plan is None:
        raise ModelFileError(
            "the file of a stream cannot hold a plan with objects that are not dataclasses"
        )
    header = {
        "certificate": json.loads(session.certificate.to_json()),
        "seen": session.seen,
        "labels": _labels(session._codes if secrets else {}),
        # Without noise, released values may be raw records.
        "holds_raw_records": (secrets or session.plan.task.budget is None)
        and session.holds_raw_records,
        "holds_secrets": secrets,
        "estimator": estimator,
        "ledger": None,
        "token": None,
    }
    ledger, token = session._ledger, random_name()
    if ledger is not None:
        header |= {"ledger": ledger.identity, "token": token}
    written = {name: np.ascontiguousarray(array) for name, array in arrays.items()}
    draft = _STREAM.draft(path, header, written, secret=True)
    if ledger is not None:
        try:
            ledger.save_stream(token)  # harmless if writing the file fails
        except BaseException:
            draft.discard()
            raise
    _STREAM.publish(draft, path, secret=True)


def _labels(codes: Mapping[Any, int]) -> Any:
    try:
        return encode([[label, code] for label, code in codes.items()])
    except ValueError:
        raise ModelFileError(
            "the file of a stream cannot hold such labels: use numbers or text"
        ) from None


def stream_header(path: str | Path) -> dict[str, Any]:
    """Return the header of the file of a stream, such as ``holds_raw_records``."""
    header, _ = _STREAM.read(Path(path))
    return json.loads(json.dumps(header))  # type: ignore[no-any-return]


@contextmanager
def take(path: Path) -> Iterator[StreamFile]:
    """Remove a file and yield its contents; the file is restored if anything fails."""
    path = path.resolve()  # for a link, remove its target and not the link
    # Renaming is atomic: only one process gets the file.
    taken = path.with_name(f".{path.name}.{random_names.token_hex(8)}.taken")
    try:
        path.rename(taken)
    except FileNotFoundError:
        raise ModelFileError(
            f"there is no file {path}: the file of a stream is gone once it is resumed"
        ) from None
    except OSError as error:
        raise ModelFileError(f"the stream {path} cannot be resumed: {error.strerror}") from None
    try:
        yield StreamFile(taken)
    except LedgerError:
        taken.replace(path)
        raise
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
    """The contents of the file of a stream."""

    def __init__(self, path: Path) -> None:
        self._header, self._arrays = _STREAM.read(path)
        for flag in ("holds_secrets", "holds_raw_records"):
            if not isinstance(self._header[flag], bool):
                raise ValueError(f"{flag} is neither true nor false")
        for name, array in self._arrays.items():
            if not name.startswith((_PUBLIC, _SECRET, _ESTIMATOR, _AVERAGE)):
                raise ValueError(f"it has the unknown array {name!r}")
            if not np.all(np.isfinite(array)):
                raise ValueError(f"{name} is not finite")

    @property
    def certificate(self) -> Certificate:
        """The certificate of the entire stream."""
        return Certificate.from_json(json.dumps(self._header["certificate"]))

    def use_up(self, ledger: BudgetLedger | None) -> None:
        """Record in the ledger of the stream that the file is resumed; a copy raises an error."""
        if ledger is not None:
            ledger.resume_stream(self._header["token"])

    def _check_ledger(self, ledger: BudgetLedger | None) -> None:
        stated = self._header["ledger"]
        if (stated is None) != (self._header["token"] is None):
            raise ValueError("its ledger and its token do not match")
        if stated is not None and not isinstance(self._header["token"], str):
            raise ValueError("its token is not a string")
        if ledger is None and stated is not None:
            raise LedgerError(
                "this stream was charged to a ledger, which records whether it was resumed "
                "before: give that ledger, resume(path, ledger=...)"
            )
        if ledger is not None and stated is None:
            raise LedgerError("this stream began without a ledger: resume it without one")
        if ledger is not None and ledger.identity != stated:
            raise LedgerError("this stream was charged to another ledger: give that one")

    def session(
        self,
        kind: type[OnlineSession],
        noise: NoiseSource | None = None,
        ledger: BudgetLedger | None = None,
        trusted: Trusted | None = None,
    ) -> OnlineSession:
        """Return the session that continues the stream."""
        noise = NoiseSource() if noise is None else noise
        header, certificate = self._header, self.certificate
        self._check_ledger(ledger)
        plan = checked_plan(certificate, trusted or Trusted())
        if not isinstance(plan.algorithm, OnlineAlgorithm):
            raise ValueError(f"{plan.algorithm.name} is not for streams")
        seen = header["seen"]
        if type(seen) is not int or not 0 <= seen <= plan.task.n:
            raise ValueError("the number of records is not within the horizon")
        session = kind.__new__(kind)
        session._begin(plan, seen, noise, ledger)
        # A stream that ever used seeded noise stays marked as such.
        seeded = certificate.noise_source == SEEDED
        session.certificate = certificate if seeded else certificate.with_noise_source(noise)
        if ledger is not None and session.certificate.noise_source == SEEDED:
            raise LedgerError(NO_SEED)
        public = self._part(_PUBLIC)
        secret = self._part(_SECRET) if header["holds_secrets"] else None
        _check_names(public, session._learner.public_state())
        if secret is not None:
            self._restore_waiting(session, secret)
            _check_names(secret, session._learner.secret_state())
            _check_rows(plan, secret)
        elif self._part(_SECRET):
            raise ValueError("it contains secrets, but states that it has none")
        session._learner.restore(public, secret)
        self._restore_average(session)
        return session

    def _restore_average(self, session: OnlineSession) -> None:
        stored, average = self._part(_AVERAGE), session._average
        _check_names(stored, {"mean": average.mean, "records": average.mean})
        mean, records = stored["mean"], stored["records"]
        if mean.shape != average.mean.shape or records.shape != (1,):
            raise ValueError("the average of its models has a wrong shape")
        if records[0] != int(records[0]) or not 0 <= records[0] <= session.seen:
            raise ValueError("the average of its models is over a wrong number of records")
        average.mean, average.records = mean, int(records[0])

    def _restore_waiting(self, session: OnlineSession, secret: dict[str, Array]) -> None:
        x, y = (secret.pop(name) for name in _WAITING)
        if x.shape != (len(y), session.plan.task.features) or len(y) >= session._batch:
            raise ValueError("the unfinished batch has another shape")
        _check_rows(session.plan, {"buffer_x": x, "buffer_y": y})
        session._waiting = len(y)
        session._x[: len(y)], session._y[: len(y)] = x, y
        session._codes = {label: int(code) for label, code in decode(self._header["labels"])}
        session._next_code = 1 + max(session._codes.values(), default=-1)

    @property
    def has_estimator(self) -> bool:
        """Whether it was saved by an estimator."""
        return isinstance(self._header["estimator"], dict)

    def estimator(self) -> tuple[dict[str, Any], dict[str, Array]]:
        """Return the values that an estimator added."""
        estimator = self._header["estimator"]
        if not isinstance(estimator, dict):
            raise ValueError("it was saved by a session: use OnlineSession.resume(path)")
        return estimator, self._part(_ESTIMATOR)

    def _part(self, prefix: str) -> dict[str, Array]:
        return {
            name.removeprefix(prefix): array
            for name, array in self._arrays.items()
            if name.startswith(prefix)
        }


def checked_plan(certificate: Certificate, trusted: Trusted) -> Plan:
    """Return the plan of a certificate, planned again; raise ValueError if any number differs."""
    again = plan_again(certificate, trusted)
    for difference in differences(certificate, again.certificate):
        made_by = certificate.library_version
        if made_by != __version__:
            raise ValueError(
                f"it was planned by pairdp {made_by}, and {__version__} plans differently: use "
                f"pairdp {made_by}"
            )
        raise ValueError(f"its plan does not follow from its problem and budget: {difference}")
    return again


def _check_names(found: Mapping[str, Array], expected: Mapping[str, Array]) -> None:
    if found.keys() != expected.keys():
        raise ValueError("it has missing or unknown arrays")


def _check_rows(plan: Plan, arrays: Mapping[str, Array]) -> None:
    """Raise ValueError for records that the plan's problem cannot have made."""
    if "buffer_x" not in arrays:
        return
    x, y = arrays["buffer_x"], arrays["buffer_y"]
    if x.size and np.linalg.norm(x, axis=1).max() > plan.problem.data_norm * (1 + 1e-9):
        raise ValueError("it has records above the data norm")
    if plan.problem.loss.binary:
        null, known = y == 0, np.abs(y) <= 1
    else:
        null, known = y == -1, y >= -1
    if not np.all(known & (y == np.round(y))):
        raise ValueError("it has invalid labels")
    if x[null].any():
        raise ValueError("it has null records that are not zero")
