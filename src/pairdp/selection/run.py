"""A run of a planned search: candidates are fitted to some records, and one is chosen on others."""

from __future__ import annotations

import hashlib
import json
import warnings
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from pairdp.algorithms import Fit
from pairdp.algorithms.plan import Progress
from pairdp.estimators import PrivateEstimator
from pairdp.evaluation.scoring import model_parts
from pairdp.evaluation.selection import RepeatedChoice, centred_sum
from pairdp.privacy import NoiseSource
from pairdp.privacy.certificates.held_out import Placed
from pairdp.selection.plan import PlannedCandidate, SearchPlan
from pairdp.selection.rows import rows_at
from pairdp.unit_limit import UnitLimit

Array = NDArray[np.float64]


class SearchRecords(NamedTuple):
    """Records: rows, labels and units, the latter two None if there are none."""

    rows: Any
    labels: Any = None
    groups: Any = None

    def at(self, placed: Placed, places: NDArray[np.intp]) -> SearchRecords:
        """Return the records of a part."""
        labels = None if self.labels is None else rows_at(self.labels, places)
        groups = None if placed.groups is None else placed.groups_of(places)[0]
        return SearchRecords(rows_at(self.rows, places), labels, groups)


def source_of(plan: SearchPlan, random_state: Any) -> NoiseSource:
    """Return the source of the noise of a search."""
    # A seed gives different noise for each plan; that of two budgets would cancel otherwise.
    planned = json.dumps(plan.certificate.to_dict(), sort_keys=True)
    digest = hashlib.sha256(planned.encode()).hexdigest()
    return NoiseSource.from_random_state(random_state).child("search", digest)


def run_search(
    plan: SearchPlan, records: SearchRecords, source: NoiseSource, names: Any, progress: Progress
) -> tuple[int, PrivateEstimator]:
    """Return the place of the chosen candidate, and its model.

    Parameters
    ----------
    plan : SearchPlan
        The search.
    records : SearchRecords
        All records, which are divided as planned.
    source : NoiseSource
        The source of all noise.
    names : sequence of str or None
        The names of the columns of an array.
    progress : Progress
        What shows how far it is.
    """
    training, held_out = parts_of(plan, records)
    if isinstance(plan.selection, RepeatedChoice):
        return _best_of_runs(plan, plan.selection, training, held_out, source, names, progress)
    models = fit_candidates(plan, training, source, names, progress)
    place = choose(plan, models, held_out, source, names)
    return place, models[place]


def parts_of(plan: SearchPlan, records: SearchRecords) -> tuple[SearchRecords, SearchRecords]:
    """Return the records that candidates are fitted to, and those that one is chosen on."""
    placed = plan.held_out.rows(plan.n).of_batch(plan.n, records.groups)
    return records.at(placed, placed.training), records.at(placed, placed.evaluation)


def fit_candidates(
    plan: SearchPlan, records: SearchRecords, source: NoiseSource, names: Any, progress: Progress
) -> list[PrivateEstimator]:
    """Return all candidates: one of each group fitted to records, others to its release."""
    leaders: dict[int, tuple[PrivateEstimator, Fit]] = {}
    fitted = []
    steps = progress.steps(len(plan.candidates), "candidates")
    for _, each in zip(steps, plan.candidates, strict=True):
        model: PrivateEstimator = clone(each.candidate.estimator)
        if each.group in leaders:
            _fit_to_release(model, each, *leaders[each.group])
        else:
            if not source.is_secure:
                model.set_params(random_state=source.stream("fit", each.group))
            rows = each.candidate.columns(records.rows, names)
            fit = model._release(rows, records.labels, records.groups)
            leaders[each.group] = model.set_params(random_state=None), fit
        fitted.append(model)
    return fitted


def choose(
    plan: SearchPlan,
    models: list[PrivateEstimator],
    records: SearchRecords,
    source: NoiseSource,
    names: Any,
) -> int:
    """Return the place of the candidate that is chosen on records that were held out."""
    if isinstance(plan.selection, RepeatedChoice):
        raise TypeError("repeat-and-select chooses while it fits")
    scored = [
        _scored(plan, each, model, records, names)
        for each, model in zip(plan.candidates, models, strict=True)
    ]
    scores, signs = zip(*scored, strict=True)
    return plan.selection.run(scores, signs, source.child("selection"))


def _best_of_runs(
    plan: SearchPlan,
    choice: RepeatedChoice,
    training: SearchRecords,
    held_out: SearchRecords,
    source: NoiseSource,
    names: Any,
    progress: Progress,
) -> tuple[int, PrivateEstimator]:
    """Return the candidate of the best of a random number of runs, and its model."""
    mechanism, draws = choice.mechanism, source.stream("runs")
    best: tuple[float, int, int, PrivateEstimator] | None = None
    count = mechanism.number_of_runs(draws)
    # Neither a bar nor the number of warnings may tell how many runs there are.
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for run in progress.steps(count, "fits", counted=False):
            place, tie_break = mechanism.draw(draws), int(draws.integers(2**63))
            each = plan.candidates[place]
            model: PrivateEstimator = clone(each.candidate.estimator)
            model.set_params(
                verbose=False,
                random_state=None if source.is_secure else source.stream("fit", run),
            )
            rows = each.candidate.columns(training.rows, names)
            model._release(rows, training.labels, training.groups)
            model.set_params(verbose=each.candidate.estimator.verbose, random_state=None)
            total = centred_sum(*_scored(plan, each, model, held_out, names))
            noisy = float(mechanism.release([total], source.stream("score", run))[0])
            if best is None or (noisy, tie_break) > best[:2]:
                best = noisy, tie_break, place, model
    if best is None:
        raise RuntimeError("there is always one run")
    return best[2:]


def _scored(
    plan: SearchPlan,
    planned: PlannedCandidate,
    model: PrivateEstimator,
    records: SearchRecords,
    names: Any,
) -> tuple[Array, Array]:
    """Return the scores and signs of held-out records, for one model."""
    n, unit = plan.selection.n, plan.certificate.unit
    unused = np.zeros(n, dtype=np.bool_)
    if unit is not None:
        unused = UnitLimit(unit.max_records).unused(records.groups, n)
    scored, rows = model_parts(model), planned.candidate.columns(records.rows, names)
    labels = scored.given_labels(rows, records.labels)
    signs = np.where(unused, 0.0, scored.coded_signs(labels, model.invalid))
    return scored.scores(rows, model.invalid), signs


def _fit_to_release(
    model: PrivateEstimator, planned: PlannedCandidate, leader: PrivateEstimator, fit: Fit
) -> None:
    if not model._set_from(leader, planned.plan, fit):
        raise RuntimeError("a candidate that shares a release could not be computed from it")
