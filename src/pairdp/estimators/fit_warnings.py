"""Warnings of `fit`, which depend only on public facts or on what was released."""

from __future__ import annotations

import inspect
import warnings

from pairdp.algorithms import Plan


class DataNormWarning(UserWarning):
    """No bound on the norm of records was given, and 1 is used."""


class NoSignalWarning(UserWarning):
    """The noise is larger than the signal, by public facts or by what was released.

    Also if the budget does not buy a part of the model that was asked for.
    """


class EuclideanWarning(NoSignalWarning):
    """The released metric is a multiple of the Euclidean one."""


class UncoveredSearchWarning(UserWarning):
    """A model is fitted many times by a search or a validation, which no certificate covers."""


EUCLIDEAN = (
    "the released metric is a multiple of the Euclidean one: no direction stood out from the "
    "noise, or nearest neighbours are not expected to gain from any; use more records or a larger "
    "epsilon, if noise hides directions, or the Euclidean metric, which costs nothing"
)
NO_DATA_NORM = (
    "data_norm is not given, so rows are clipped to norm 1 whatever their scale: scale features "
    "by public bounds (BoundsScaler) and give data_norm=1.0, or give the public norm of your rows"
)


_UNCOVERED = (
    "{who} fits private models many times and compares them on the records: no certificate covers "
    "its result. Each fit spends its own budget, and scores on sensitive records are not private. "
    "PrivateSearch chooses among candidates, and pairdp.evaluate states an AUC, each within one "
    "budget. If the records are public, ignore pairdp.UncoveredSearchWarning"
)
_CALIBRATED = (
    "{who} compares the scores of a private model with the labels of records, without noise: no "
    "certificate covers its result. pairdp.evaluate(model, X, y, epsilon, roc=True) with "
    "model.calibrate, or with a threshold, does so within a budget. If the records are public, "
    "ignore pairdp.UncoveredSearchWarning"
)
_SEARCHES = (
    "sklearn.model_selection",
    "sklearn.calibration",
    "sklearn.feature_selection",
    "sklearn.ensemble",
)
_ONE_FIT = ("FixedThresholdClassifier",)
_BY_LABELS = ("CalibratedClassifierCV", "TunedThresholdClassifierCV")

_SHOWN: set[tuple[str, str, int]] = set()


def warn_of_search() -> None:
    """Warn if an estimator is fitted by a search, a validation or a calibration of scikit-learn.

    These call `fit` on copies, in this process or another, and say so nowhere but in the call
    stack: one of the callers is a function of a module of theirs.
    """
    _warn_of(_UNCOVERED)


def warn_of_calibration() -> None:
    """Warn if scores are for a calibration, or for a threshold, by scikit-learn.

    A model that is frozen, or fitted before, is not fitted again, and then no other warning says
    that labels are used.
    """
    frame = inspect.currentframe()
    while frame is not None:
        name, module = frame.f_code.co_name, frame.f_globals.get("__name__", "")
        if name == "fit" and module.startswith(_SEARCHES):
            if type(frame.f_locals.get("self")).__name__ in _BY_LABELS:
                _warn_of(_CALIBRATED)
            return
        frame = frame.f_back


def _warn_of(sentence: str) -> None:
    """Warn of the outermost caller in scikit-learn that is a search; nothing if there is none."""
    who, frame, level = None, inspect.currentframe(), 0
    while frame is not None:
        module = frame.f_globals.get("__name__", "")
        if module.startswith(_SEARCHES):
            caller = type(frame.f_locals.get("self")).__name__
            named = caller if "self" in frame.f_locals else frame.f_code.co_name.lstrip("_")
            who = None if named in _ONE_FIT else named
        elif who is not None and module.partition(".")[0] not in ("sklearn", "joblib", "threading"):
            break
        frame, level = frame.f_back, level + 1
    if who is None:
        return
    # A search fits many times, and Python forgets what it has shown when filters change meanwhile.
    place = (who, frame.f_code.co_filename, frame.f_lineno) if frame is not None else (who, "", 0)
    if place in _SHOWN and not _is_shown_always(UncoveredSearchWarning):
        return
    _SHOWN.add(place)
    warnings.warn(sentence.format(who=who), UncoveredSearchWarning, stacklevel=level + 1)


def _is_shown_always(category: type[Warning]) -> bool:
    """Return whether the filter for a category makes an error of it, or shows it each time."""
    actions = (action for action, _, kind, *_ in warnings.filters if issubclass(category, kind))
    return next(actions, "default") in ("error", "always", "all")


def warn_before(plan: Plan, *, norm_is_given: bool) -> None:
    """Warn if a plan is weak or not proved, or if no bound on the norm was given.

    No warning depends on the data.
    """
    if not norm_is_given:
        warn_caller(NO_DATA_NORM, DataNormWarning)
    for sentence in plan.warnings:
        warn_caller(sentence, NoSignalWarning)
    budget = plan.task.budget
    if budget is None:
        return
    if not plan.claim_is_proved:
        warn_caller(
            f"the printed noise is not proved to give ε = {budget.epsilon:g} at δ = "
            f"{budget.delta:g}, only ε = {plan.true_epsilon:.4g}: use calibration='certified'",
            UserWarning,
        )
    if budget.delta * plan.task.n >= 1:
        warn_caller(
            f"delta = {budget.delta:g} is not below 1/n = {1 / plan.task.n:.2g}, which would allow "
            "publishing a record outright: use a smaller delta",
            UserWarning,
        )


def warn_caller(sentence: str, kind: type[Warning]) -> None:
    """Warn, as if the first caller outside this library did."""
    warnings.warn(sentence, kind, stacklevel=_level_of_caller())


def _level_of_caller() -> int:
    """Return the stack level, seen from `warn_caller`, of the first caller outside this library."""
    library = __name__.partition(".")[0]
    frame, level = inspect.currentframe(), 0
    while frame is not None and frame.f_globals.get("__name__", "").partition(".")[0] == library:
        frame, level = frame.f_back, level + 1
    return level
