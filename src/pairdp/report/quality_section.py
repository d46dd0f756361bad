"""The section on how good the model is: a private evaluation, where one was paid for."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from pairdp.drawing import Axis, Figure, Point, Series, Style, write_group
from pairdp.drawing.text import measured, number
from pairdp.report.facts import ReportFacts
from pairdp.report.html import Html, facts, paragraphs, section, table, tag
from pairdp.report.words import budget_words, count, percent, protects

_RATES = (0.01, 0.05, 0.1, 0.2, 0.3, 0.5)
_DRAWN = 41
_NONE = (
    "No private evaluation was paid for, so this report states no quality. A figure that was "
    "computed from sensitive records without one is not covered by the guarantee."
)

_HELD_OUT = (
    "They were held out from the fit by a public rule, so that no record is in both: model and "
    "evaluation together cost as much as the more expensive of the two."
)
_OTHER_RECORDS = (
    "For records that were also used to fit the model, both budgets add up; for other records, "
    "each guarantee holds by itself. {}"
)
_OF_THIS_MODEL = "The evaluation states the digest of what this model has released: {}…"
_NOT_CHECKED = (
    "Whether these figures are of this model cannot be checked, since the evaluation does not say "
    "of which model it is: this is stated by whoever made it."
)


def named_figures(evaluation: Any) -> Iterator[tuple[str, float, tuple[float, float] | None]]:
    """Yield the name, value and interval of each figure of an evaluation of any kind.

    A figure is a number in ``figures()``, whose interval has its name with "_interval", or a
    mapping with "value" and "interval".
    """
    found = evaluation.figures()
    for name, value in found.items():
        interval = found.get(f"{name}_interval")
        if isinstance(value, dict) and value.keys() == {"value", "interval"}:
            value, interval = value["value"], value["interval"]
        if name == "level" or isinstance(value, bool) or not isinstance(value, int | float):
            continue
        ends = None if interval is None else (float(interval[0]), float(interval[1]))
        yield name, float(value), ends


def main_figure(evaluation: Any) -> tuple[str, float, tuple[float, float] | None] | None:
    """Return the first figure that has an interval, for the summary."""
    return next((figure for figure in named_figures(evaluation) if figure[2] is not None), None)


def figure_words(value: float, interval: tuple[float, float] | None) -> str:
    """Return a figure with its interval."""
    if interval is None:
        return measured(value)
    low, high = interval
    if is_hidden(interval):
        return "not known: the noise hides it, and the 95 % interval is 0 to 1"
    return f"{digits(value)}, 95 % interval {digits(low)} to {digits(high)}"


def is_hidden(interval: tuple[float, float] | None) -> bool:
    """Return whether an interval says nothing, so that the estimate in it would mislead."""
    return interval is not None and tuple(interval) == (0.0, 1.0)


def digits(value: float) -> str:
    """Return a figure to three decimals, or to four digits if it is large."""
    return f"{value:.3f}" if abs(value) < 10 else measured(value)


def title_of(name: str) -> str:
    """Return the name of a figure for people."""
    return {"auc": "AUC"}.get(name, name.replace("_", " "))


def _of_which_model(report: ReportFacts) -> str:
    """Return whether the evaluation is known to be of this model."""
    if not report.of_this_model:
        return _NOT_CHECKED
    return _OF_THIS_MODEL.format(str(report.evaluation.model)[:16])


def quality_figures(report: ReportFacts) -> list[Figure]:
    """Return the ROC curve and the calibration, where counts of scores were paid for."""
    evaluation = report.evaluation
    if not _has_counts(evaluation):
        return []
    edges = evaluation.plan.evaluation.edges
    figures = []
    if len(edges) > 1:
        figures.append(evaluation.roc.figure("ROC curve"))
        figures.append(_calibration(evaluation, edges))
    return figures


def _has_counts(evaluation: Any) -> bool:
    plan = getattr(evaluation, "plan", None)
    return bool(getattr(getattr(plan, "evaluation", None), "edges", ()))


def quality_section(report: ReportFacts, figures: list[Figure]) -> Html:
    """Return what an evaluation released, with intervals."""
    evaluation = report.evaluation
    if evaluation is None:
        return section("quality", "How good it is", paragraphs(_NONE))
    certificate = evaluation.certificate
    listed = list(_listed(evaluation, is_metric=report.is_metric))
    words = [
        (
            "These figures were released with noise of their own. Intervals contain the noise of "
            "privacy and the chance of which records were evaluated."
        ),
        (
            f"The evaluation used n = {count(certificate.n)} records with the budget "
            f"{budget_words(certificate.budget)}, and protects {protects(certificate)}. "
            f"{_HELD_OUT if report.held_out else _OTHER_RECORDS.format(_of_which_model(report))}"
        ),
    ]
    if figures:
        words.append(
            "The ROC curve shows which share of the high class is found (true positive rate) at "
            "the price of which share of the low class (false positive rate)."
        )
    return section(
        "quality",
        "How good it is",
        facts(listed),
        paragraphs(*words),
        Html(write_group("quality", figures, legend=False)) if figures else None,
        *_tables(evaluation),
    )


def _listed(evaluation: Any, *, is_metric: bool) -> Iterator[tuple[str, str]]:
    """Yield the figures in words; counts of records of an AUC become a share."""
    is_auc = hasattr(evaluation, "auc") and hasattr(evaluation, "positives")
    for name, value, interval in named_figures(evaluation):
        if not (is_auc and interval is None):
            yield title_of(name), figure_words(value, interval)
    if is_auc and is_metric:
        yield "what it is", "the chance that two records of one class are closer than two of others"
    elif is_auc:
        low, high = evaluation.plan.evaluation.classes
        known = getattr(evaluation.plan, "items", evaluation.certificate.n)
        share = evaluation.positives / max(known - evaluation.null_records, 1)
        yield "what it is", f"the chance that {high} scores above {low}"
        yield f"share of {high}", f"about {percent(share)} of the records"


def _tables(evaluation: Any) -> Iterator[Html]:
    if not _has_counts(evaluation):
        return
    if len(evaluation.plan.evaluation.edges) > 1:
        yield tag("h3", "The ROC curve in numbers")
        yield _roc_table(evaluation)
    yield tag(
        "details",
        tag("summary", "Sensitivity, specificity and precision at thresholds"),
        _threshold_table(evaluation),
    )


def _roc_table(evaluation: Any) -> Html:
    x, y = evaluation.roc.curve()
    rows = []
    for rate in _RATES:
        lower, upper = evaluation.roc.band(rate)
        estimate = float(np.interp(rate, x, y))
        ends = f"{percent(min(lower, estimate))} to {percent(max(upper, estimate))}"
        rows.append((percent(rate), percent(estimate), ends))
    head = ("false positive rate", "true positive rate", "95 % band")
    caption = "True positive rates, with a band that holds for the whole curve"
    return table(head, rows, caption=caption, cls="numbers")


def _threshold_table(evaluation: Any) -> Html:
    names = ("sensitivity", "specificity", "precision")
    rows = []
    for found in evaluation.figures()["thresholds"]:
        shares = [found[name] for name in names]
        rows.append((number(float(f"{found['threshold']:.4g}")), *map(_share, shares)))
    caption = "Records that score above a threshold are predicted to be of the high class"
    return table(("threshold", *names), rows, caption=caption, cls="numbers")


def _share(share: dict[str, Any]) -> str:
    low, high = share["interval"]
    return f"{percent(share['value'])} ({percent(low)} to {percent(high)})"


def _calibration(evaluation: Any, edges: tuple[float, ...]) -> Figure:
    """Return the probability of the high class by score."""
    scores = np.linspace(edges[0], edges[-1], _DRAWN)
    found = evaluation.calibration.probability(scores)
    points = tuple(
        Point(score, share) for score, share in zip(scores.tolist(), found.tolist(), strict=True)
    )
    high = evaluation.plan.evaluation.classes[1]
    return Figure(
        "Calibration",
        Axis("score", "score", scale="linear"),
        Axis(f"probability of {high}", "probability", scale="linear", include=(0.0, 1.0)),
        (Series("calibrated probability", points, Style(color=2, marker=None)),),
        description="The estimated probability of the high class as a function of the score.",
    )
