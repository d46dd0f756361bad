"""The report of a model: an HTML page for the person who decides on its release."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date as Date  # noqa: N812 - the parameter is called date
from pathlib import Path
from typing import Any

from pairdp._files import destination, write_atomically
from pairdp.drawing.text import escape
from pairdp.privacy import BudgetLedger
from pairdp.report.facts import SourceFile, collect_facts
from pairdp.report.page import render

_OF_MODEL, _OF_EVALUATION = "pairdp verify MODEL.pairdp", "pairdp verify EVALUATION.json"


@dataclass(frozen=True)
class ModelReport:
    """A report.

    Attributes
    ----------
    html : str
        One HTML page, which loads nothing from elsewhere.
    warning : str or None
        What it says first, such as that the model is not private.
    refused : bool
        Whether a certificate was refused.
    """

    html: str
    warning: str | None = None
    refused: bool = False

    def save(self, path: str | Path) -> None:
        """Write the page to a file, atomically."""
        if not destination(Path(path)).parent.is_dir():
            raise FileNotFoundError(f"there is no directory {Path(path).parent} to save into")
        write_atomically(Path(path), self.html.encode())

    def _repr_html_(self) -> str:
        return (
            f'<iframe srcdoc="{escape(self.html)}" title="Privacy report" '
            'style="width:100%;height:40rem;border:1px solid #7b838c"></iframe>'
        )

    def __repr__(self) -> str:
        return f"ModelReport({len(self.html)} characters of HTML)"


def write_report(
    model: Any,
    path: str | Path | None = None,
    *,
    evaluation: Any = None,
    ledger: BudgetLedger | None = None,
    date: Date | None = None,
    trusted: Iterable[type | str] = (),
    files: Iterable[SourceFile] = (),
    command: str | None = None,
) -> ModelReport:
    """Return the report on a fitted model, for the person who decides on its release.

    It is a function of released values and of public facts: it costs no budget, and may be shown to
    whoever may see the model.

    Parameters
    ----------
    model : estimator or Pipeline
        A fitted private model, or a pipeline that ends with one.
    path : path-like, optional
        A file to write the report to, atomically.
    evaluation : Evaluation, optional
        A private evaluation of the model; by default its ``evaluation_``, if it has one.
    ledger : BudgetLedger, optional
        The ledger that paid; by default the parameter of the model.
    date : datetime.date, optional
        The date of the report; by default today.
    trusted : iterable of class or str, default=()
        Classes outside pairdp that may be called to verify; see `pairdp.verify`.
    files : iterable of SourceFile, default=()
        Files that the report is about, with their digests.
    command : str, optional
        The command that repeats the verification; by default, with names for files that may be
        written later.

    Raises
    ------
    TypeError
        If it is not a private model.
    NotFittedError
        If it is not fitted.
    ValueError
        If the evaluation is of another model.

    Examples
    --------
    >>> import numpy as np
    >>> from pairdp import PrivateRanker, write_report
    >>> rng = np.random.default_rng(0)
    >>> y = rng.integers(0, 2, 1000)
    >>> X = (rng.normal(size=(1000, 3)) + y[:, None]) / 5
    >>> model = PrivateRanker(1.0, data_norm=1.0).fit(X, y)
    >>> report = write_report(model)
    >>> "verified" in report.html
    True
    """
    facts = collect_facts(
        model, evaluation=evaluation, ledger=ledger, date=date, trusted=trusted, files=files
    )
    if command is None:
        separate = facts.evaluation is not None and not facts.held_out
        command = f"{_OF_MODEL}\n{_OF_EVALUATION}" if separate else _OF_MODEL
    warning = None if facts.warning is None else ". ".join(facts.warning)
    report = ModelReport(render(facts, command), warning, facts.refused)
    if path is not None:
        report.save(path)
    return report
