"""The public facts of a fitted model in one place, for tables, notebooks and the command line."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from pairdp.algorithms.parameter_noise import ParameterNoise, unknown_noise
from pairdp.evaluation.result import Evaluation
from pairdp.privacy import Certificate, CertificateError
from pairdp.report.columns import ColumnFact, columns_of, last_step
from pairdp.report.words import protects
from pairdp.verification.certificates import verify
from pairdp.verification.report import Report

Array = NDArray[np.float64]
_NOT_STATED = unknown_noise("the model does not state it, as those of streams and of older files")


class Weight(NamedTuple):
    """A released number and the standard deviation of its noise, None if that is unknown."""

    name: str
    value: float
    noise: float | None


class MetricAxis(NamedTuple):
    """A direction of a metric: its eigenvalue, and the loading of each feature."""

    eigenvalue: float
    loadings: tuple[float, ...]


@dataclass(frozen=True)
class ModelCard:
    """What a fitted private model is, as public facts.

    Attributes
    ----------
    kind : str
        The class of the estimator.
    purpose : str
        What it does, in a few words.
    weights_are : {"weights", "points of bins", "diagonal of the matrix"}
        What is listed as weights.
    certificate : Certificate
        Budget, unit, n and algorithm.
    data_set : str or None
        The name that the user gave to the data.
    ranked : tuple of str or None
        The label with low and the one with high scores.
    weights : tuple of Weight
        One for each feature: the weight of a linear model, the diagonal of a metric's matrix. One
        for each bin of a scorecard, by column, of which the one whose points differ most over the
        records comes first; and none for other models.
    intercept : Weight or None
        The intercept of a linear model or of a scorecard.
    axes : tuple of MetricAxis
        The directions that a metric learned, longest first.
    noise : ParameterNoise
        What the noise of the weights is.
    columns : tuple of ColumnFact
        Columns of the data and what is public about them, where it is known.
    evaluation : Evaluation or None
        The private evaluation on records that were held out.
    probabilities : str or None
        How probabilities follow from scores, and what that cost, if the model is calibrated.
    """

    kind: str
    purpose: str
    weights_are: str
    certificate: Certificate
    data_set: str | None
    ranked: tuple[str, str] | None
    weights: tuple[Weight, ...]
    intercept: Weight | None
    axes: tuple[MetricAxis, ...]
    noise: ParameterNoise
    columns: tuple[ColumnFact, ...]
    evaluation: Evaluation | None = None
    probabilities: str | None = None

    @property
    def weights_to_show(self) -> tuple[Weight, ...]:
        """The weights, largest first; bins of a scorecard stay in order."""
        if self.weights_are == "points of bins":
            return self.weights
        return tuple(sorted(self.weights, key=lambda weight: -abs(weight.value)))

    @property
    def order_in_words(self) -> str:
        """The order of `weights_to_show`."""
        bins = self.weights_are == "points of bins"
        return "by column, the most important first" if bins else "largest first"

    @property
    def records_in_words(self) -> str:
        """The public number of records, and how many of them were held out."""
        words = f"n = {self.certificate.n}"
        if self.evaluation is not None:
            words += f", of which {self.evaluation.certificate.n} were held out for evaluation"
        return words

    @property
    def evaluation_in_words(self) -> str | None:
        """The first figure of the evaluation, with its interval."""
        found = self.evaluation
        return None if found is None else " ".join(str(found).splitlines()[0].split())

    @property
    def plus_minus(self) -> str:
        """The heading of the noise: "±", or "± at most" for a bound."""
        return "± at most" if self.noise.kind == "bound" else "±"

    @property
    def budget_in_words(self) -> str:
        """The claim, or that there is none."""
        budget = self.certificate.budget
        if budget is None:
            return "none: fitted without noise, and not private"
        return f"ε = {budget.epsilon:g}, δ = {budget.delta:g}"

    @property
    def unit_in_words(self) -> str:
        """What the claim protects."""
        return protects(self.certificate)

    def to_dict(self) -> dict[str, Any]:
        """Return everything except the certificate as JSON values."""
        budget, unit = self.certificate.budget, self.certificate.unit
        return {
            "kind": self.kind,
            "weights_are": self.weights_are,
            "purpose": self.purpose,
            "algorithm": self.certificate.algorithm,
            "epsilon": None if budget is None else budget.epsilon,
            "delta": None if budget is None else budget.delta,
            "unit": None if unit is None else {"name": unit.name, "max_records": unit.max_records},
            "n": self.certificate.n,
            "calibration": self.certificate.calibration,
            "noise_source": self.certificate.noise_source,
            "data_set": self.data_set,
            "ranked_low": None if self.ranked is None else self.ranked[0],
            "ranked_high": None if self.ranked is None else self.ranked[1],
            "columns": {column.name: column.words for column in self.columns},
            "weights": [weight._asdict() for weight in self.weights],
            "intercept": None if self.intercept is None else self.intercept._asdict(),
            "axes": [axis._asdict() for axis in self.axes],
            "noise": {"kind": self.noise.kind, "words": self.noise.words},
            "evaluation": None if self.evaluation is None else self.evaluation.figures(),
            "probabilities": self.probabilities,
        }


def card_of(model: Any) -> ModelCard:
    """Return the card of a fitted private estimator, or of a Pipeline that ends in one.

    Raises
    ------
    TypeError
        If it is neither.
    NotFittedError
        If it is not fitted.
    """
    estimator = last_step(model)
    if not hasattr(type(estimator), "privacy_statement"):
        raise TypeError(f"a {type(estimator).__name__} is not a private estimator of pairdp")
    check_is_fitted(estimator, "certificate_")
    noise: ParameterNoise = getattr(estimator, "parameter_noise_", _NOT_STATED)
    if (scale := getattr(estimator, "_target_scale", 1.0)) != 1:
        noise = noise.times(scale, "the half-width of the target's range")
    scorecard = scorecard_of(estimator)
    if scorecard is None:
        weights = _weights(noise, _values(estimator), _feature_names(model, estimator))
        what = "diagonal of the matrix" if _is_metric(estimator) else "weights"
    else:
        weights, what = tuple(map(Weight._make, scorecard.named_points())), "points of bins"
    scores = hasattr(estimator, "intercept_")
    classes: Any = getattr(estimator, "classes_", ()) if scores else ()
    ranked = (str(classes[0]), str(classes[1])) if len(classes) == 2 else None
    return ModelCard(
        kind=type(estimator).__name__,
        purpose=_purpose(estimator, ranked),
        weights_are=what,
        certificate=estimator.certificate_,
        data_set=getattr(estimator, "data_set", None),
        ranked=ranked,
        weights=weights,
        intercept=_intercept(scorecard or estimator, noise),
        axes=tuple(_axes(estimator)),
        noise=noise,
        columns=columns_of(model),
        evaluation=getattr(estimator, "evaluation_", None),
        probabilities=_probabilities(estimator),
    )


def _probabilities(estimator: Any) -> str | None:
    """Return how a calibrated model gives probabilities, in words."""
    evaluation = getattr(estimator, "calibration_", None)
    if evaluation is None:
        return None
    slope, intercept = evaluation.calibration
    budget, n = evaluation.certificate.budget, evaluation.certificate.n
    cost = f"ε = {budget.epsilon:g}" + (f", δ = {budget.delta:g}" if budget.delta else "")
    return f"log-odds {slope:.4g}·score {intercept:+.4g}, from n = {n} records at {cost}"


def _is_metric(estimator: Any) -> bool:
    return hasattr(estimator, "components_") and not hasattr(estimator, "coef_")


def scorecard_of(estimator: Any) -> Any:
    """Return the scorecard of a model; None if it has no points of bins."""
    if hasattr(estimator, "points_"):
        return estimator
    return estimator.to_scorecard() if hasattr(estimator, "bins_") else None


def _weights(noise: ParameterNoise, values: Array, names: list[str]) -> tuple[Weight, ...]:
    # An intercept is the last parameter, and not among the weights.
    known = 0.0 if noise.deviation is None else noise.deviation
    spreads = noise.of_each(max(values.size, np.size(known)))
    return tuple(
        Weight(name, float(value), None if spreads is None else float(spreads[place]))
        for place, (name, value) in enumerate(zip(names, values, strict=True))
    )


def _values(estimator: Any) -> Array:
    """Return the weights of a linear model, or the diagonal of a metric's matrix."""
    if hasattr(estimator, "coef_"):
        return np.ravel(estimator.coef_)
    if _is_metric(estimator):
        return np.asarray(np.einsum("ij,ij->j", estimator.components_, estimator.components_))
    return np.empty(0)


def _feature_names(model: Any, estimator: Any) -> list[str]:
    """Return the name of each feature that has a weight."""
    schema = getattr(estimator, "schema_", None)
    count = _values(estimator).size
    found: Any = getattr(estimator, "feature_names_in_", None)
    if schema is not None:
        found = schema.feature_names_out
    elif found is None and isinstance(model, Pipeline):
        try:
            found = model[:-1].get_feature_names_out()
        except (AttributeError, ValueError):
            found = None
    names = [] if found is None else [str(name) for name in found]
    return names if len(names) == count else [f"x{place}" for place in range(count)]


def _purpose(estimator: Any, ranked: tuple[str, str] | None) -> str:
    if hasattr(estimator, "points_") and ranked is not None:
        return f"a scorecard: label {ranked[1]} has higher scores than label {ranked[0]}"
    if (kind := getattr(estimator, "model_", "linear")) != "linear" and ranked is not None:
        article = "an" if kind == "additive" else "a"
        more = "" if kind == "additive" else "; products of two columns are added to the points"
        return (
            f"{article} {kind} ranker: label {ranked[1]} has higher scores than label "
            f"{ranked[0]}{more}"
        )
    if hasattr(estimator, "pair_distance"):
        return "a metric in which similar records are close"
    if not hasattr(estimator, "coef_"):
        return "a private model"
    if ranked is not None and hasattr(estimator, "response_bounds"):
        return f"a linear ranker: label {ranked[1]} has higher scores than label {ranked[0]}"
    if ranked is not None:
        return f"a linear model: positive scores are for label {ranked[1]}, others for {ranked[0]}"
    if getattr(estimator, "response_bounds", None) is not None:
        return "a linear ranker: larger responses have higher scores"
    return "a linear model of a number"


def _intercept(estimator: Any, noise: ParameterNoise) -> Weight | None:
    """Return the intercept; that of a constant feature has the noise of its weight, times R."""
    if not hasattr(estimator, "intercept_"):
        return None
    spread = None
    if getattr(estimator, "fit_intercept", False) and isinstance(noise.deviation, float):
        spread = noise.deviation * estimator._clipped_to()
    return Weight("intercept", float(np.ravel(estimator.intercept_)[0]), spread)


def _axes(estimator: Any) -> Iterator[MetricAxis]:
    """Yield the directions that a metric learned, with unit loadings."""
    if not _is_metric(estimator):
        return
    rows: Array = estimator.components_
    sizes = np.linalg.norm(rows, axis=1)
    for place in np.argsort(-sizes, kind="stable")[: getattr(estimator, "n_directions_", None)]:
        if sizes[place] > 0:
            loadings = (rows[place] / sizes[place]).tolist()
            yield MetricAxis(float(sizes[place] ** 2), tuple(loadings))


@lru_cache(maxsize=64)
def verified(certificate: Certificate) -> Report | str:
    """Return the report of `pairdp.verify`, or why the certificate was refused."""
    try:
        return verify(certificate)
    except CertificateError as error:
        return str(error)


def frame_of(card: ModelCard) -> Any:
    """Return the weights of a model as a pandas DataFrame, indexed by the names of features.

    Raises
    ------
    ImportError
        If pandas is not installed.
    """
    try:
        import pandas as pd  # type: ignore[import-untyped]
    except ImportError:
        raise ImportError(
            "weights_frame returns a pandas DataFrame: install pandas, or use coef_ and "
            "feature_names_in_"
        ) from None
    data: dict[str, Any] = {
        "weight": [weight.value for weight in card.weights],
        "noise_std": [np.nan if w.noise is None else w.noise for w in card.weights],
    }
    for number, axis in enumerate(card.axes, start=1):
        data[f"axis_{number}"] = list(axis.loadings)
    frame = pd.DataFrame(data, index=pd.Index([w.name for w in card.weights], name="feature"))
    frame.attrs["noise"] = card.noise.words
    return frame
