"""What a private evaluation returns, and its file."""

from __future__ import annotations

import html
import json
import math
import re
from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from pairdp._files import write_atomically
from pairdp._sealed import fields_of, seal, unseal
from pairdp.evaluation.plan import EvaluationStatistic, budget_in_words
from pairdp.privacy import Certificate, CertificateError
from pairdp.storage import NOT_VALID, decode

FORMAT = "pairdp evaluation"
FORMAT_VERSION = 1
_SAME = 1e-6
_DIGEST = re.compile("[0-9a-f]{64}")


@dataclass(frozen=True)
class Evaluation(ABC):
    """A released evaluation; everything in it is a function of noisy numbers.

    Attributes
    ----------
    released : object
        The noisy numbers.
    plan : EvaluationPlan
        What was fixed before any record was read.
    certificate : Certificate
        What was released, and why it is private. `pairdp.verify` checks it.
    model : str or None
        The SHA-256 of what the evaluated model has released; None if this is not known, as for
        models that are not private, or that hold records.
    """

    released: Any
    plan: Any
    certificate: Certificate
    model: str | None = None

    @abstractmethod
    def figures(self) -> dict[str, Any]:
        """Return all figures as JSON values."""

    @abstractmethod
    def numbers(self) -> tuple[tuple[float, ...], ...]:
        """Return the noisy numbers of each release."""

    @abstractmethod
    def _figure_lines(self) -> list[tuple[str, str]]:
        """Return what is printed: names of figures, and their values in words."""

    def privacy_statement(self) -> str:
        """Return what was released and why it is private, in words."""
        return self.certificate.statement()

    def to_dict(self) -> dict[str, Any]:
        """Return the figures, the released numbers and the certificate as JSON values."""
        return {
            "format": FORMAT,
            "format_version": FORMAT_VERSION,
            "figures": self.figures(),
            "released": [list(numbers) for numbers in self.numbers()],
            "certificate": self.certificate.to_dict(),
            **({} if self.model is None else {"model": self.model}),
        }

    def to_json(self) -> str:
        """Return the evaluation as JSON text, with a digest of its content."""
        return seal(self.to_dict())

    def save(self, path: str | Path) -> None:
        """Write the evaluation to a file, atomically; ``pairdp verify`` checks it."""
        write_atomically(Path(path), self.to_json().encode())

    @classmethod
    def from_json(cls, document: str | bytes) -> Evaluation:
        """Return the evaluation in a JSON text, after computing its figures again.

        Raises
        ------
        CertificateError
            If the text is not an evaluation, was changed or damaged, or its figures do not follow
            from what was released. Use `pairdp.verify` to check the certificate.
        """
        try:
            found, stated = cls._read(unseal(document))
            follows = _same(json.loads(json.dumps(found.figures())), stated)
        except CertificateError:
            raise
        except NOT_VALID as error:
            raise CertificateError(f"not a valid evaluation: {error}") from None
        if not follows:
            raise CertificateError("the figures do not follow from what was released")
        return found

    @classmethod
    def _read(cls, values: dict[str, object]) -> tuple[Evaluation, object]:
        names = {"format", "format_version", "figures", "released", "certificate"}
        fields = fields_of("evaluation", values, required=names, optional={"model"})
        if (fields["format"], fields["format_version"]) != (FORMAT, FORMAT_VERSION):
            raise ValueError("its format is not known to this version of pairdp")
        certificate = Certificate.from_json(seal(fields["certificate"]))
        model = fields.get("model")
        if model is not None and not (isinstance(model, str) and _DIGEST.fullmatch(model)):
            raise ValueError("the digest of its model is malformed")
        found = cls.of_numbers(certificate, fields["released"])
        return replace(found, model=model), fields["figures"]

    @classmethod
    def of_numbers(cls, certificate: Certificate, released: Any) -> Evaluation:
        """Return the evaluation with a certificate that released these numbers.

        Raises
        ------
        ValueError or TypeError
            If the certificate is not that of an evaluation, or of other numbers.
        """
        stored: Any = certificate.to_dict()["plan"] or {}
        evaluation = decode(stored.get("statistic"))
        if not isinstance(evaluation, EvaluationStatistic) or certificate.budget is None:
            raise ValueError("its certificate is not that of an evaluation")
        plan = evaluation.plan(certificate.n, certificate.budget, certificate.unit)
        numbers = [[float(number) for number in part] for part in released]
        sizes = [release.dimension for release in plan.certificate.releases]
        if [len(part) for part in numbers] != sizes or not all(
            math.isfinite(number) for part in numbers for number in part
        ):
            raise ValueError("its released numbers are not those of its plan")
        return plan.result(plan.read(*numbers), certificate)

    def is_of(self, model: Any) -> bool | None:
        """Return whether it is an evaluation of a model; None if this cannot be checked."""
        own = digest_of(model)
        return None if own is None or self.model is None else own == self.model

    def check_model(self, model: Any) -> None:
        """Raise ValueError if it is an evaluation of another model than this one."""
        if self.is_of(model) is False:
            raise ValueError(
                "the evaluation is of another model: the digest of what that model released is "
                f"{str(self.model)[:16]}…, and that of this model is {str(digest_of(model))[:16]}…"
            )

    def _lines(self) -> list[tuple[str, str]]:
        unit = self.certificate.unit
        protects = "each record" if unit is None else f"all records of one {unit.name}"
        privacy = f"{budget_in_words(self.plan)}, protects {protects}"
        return [*self._figure_lines(), ("privacy", privacy)]

    def __str__(self) -> str:
        lines = self._lines()
        width = max(len(name) for name, _ in lines)
        return "\n".join(f"{name:{width}}  {value}" for name, value in lines)

    def _repr_html_(self) -> str:
        rows = "".join(
            f'<tr><th scope="row" style="text-align:left">{html.escape(name)}</th>'
            f'<td style="text-align:left">{html.escape(value)}</td></tr>'
            for name, value in self._lines()
        )
        return f"<table><caption>Private evaluation</caption><tbody>{rows}</tbody></table>"


def digest_of(model: Any) -> str | None:
    """Return the digest of what a model, or the one that a search chose, has released.

    None for a model that is not private.
    """
    chosen = getattr(model, "best_estimator_", model)
    stated = getattr(chosen, "_released_digest", None)
    return None if stated is None else stated()


def is_evaluation(path: Path) -> bool:
    """Return whether a file says that it is an evaluation."""
    try:
        found = json.loads(path.read_bytes())
    except (ValueError, RecursionError, OSError):
        return False
    return isinstance(found, dict) and found.get("format") == FORMAT


def _same(one: object, other: object) -> bool:
    """Return whether two JSON values are equal, up to the last digits of numbers."""
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(_same(one[key], other[key]) for key in one)
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(_same, one, other))
    if isinstance(one, float) and isinstance(other, float | int) and not isinstance(other, bool):
        return math.isclose(one, other, rel_tol=_SAME, abs_tol=_SAME)
    return one == other
