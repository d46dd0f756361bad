"""Fits that evaluate themselves on records that are held out from training."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Literal

from numpy.typing import NDArray

from pairdp.algorithms import Plan
from pairdp.estimators.planning import PlannedModel
from pairdp.privacy import Certificate

if TYPE_CHECKING:  # a fit without an evaluation does not need them
    from pairdp.estimators.held_out_records import HeldOutPlan, HeldOutRecords
    from pairdp.evaluation.result import Evaluation

Measured = tuple[Literal["auc", "error", "pair_auc", "concordance"], tuple[float, float] | None]
"""What a model is evaluated by, and the range of its target if it has one."""
_REQUESTED, _RECORDS = "_evaluation_requested", "_held_out_records"


class HoldsOut(PlannedModel):
    """An estimator that can evaluate itself on records that are held out."""

    evaluation_: Evaluation
    certificate_: Certificate

    def _measure(self) -> Measured:
        """Return what the model is evaluated by; an error if there is nothing."""
        raise ValueError(
            f"evaluation_share: this {type(self).__name__} cannot be evaluated privately on "
            "records that are held out"
        )

    def _decoded(self, labels: NDArray[Any]) -> NDArray[Any]:
        """Return labels, as the problem codes them, as an evaluation takes them."""
        return labels

    def plan_with_evaluation(
        self,
        n: int,
        n_features: int | None = None,
        *,
        evaluation_share: float = 0.2,
        evaluation_options: Mapping[str, Any] | None = None,
    ) -> HeldOutPlan:
        """Return what `fit` with ``evaluation_share`` would do with n records, without any data.

        Parameters
        ----------
        n, n_features : int
            The public size of the data, including the records that are held out.
        evaluation_share, evaluation_options
            As for `fit`.

        Returns
        -------
        HeldOutPlan
            Printable, with the interval to expect. It has the plan of the fit as ``training``, and
            that of the evaluation as ``evaluation``.
        """
        from pairdp.estimators.held_out_records import EvaluationOptions, plan_held_out

        options = EvaluationOptions.of(evaluation_options)
        return plan_held_out(self, n, n_features, evaluation_share, options)

    @contextmanager
    def _holding_out(
        self,
        evaluation_share: float | None = None,
        evaluation_options: Mapping[str, Any] | None = None,
    ) -> Iterator[None]:
        """Hold out a share of the records of the fit within; none if it is None."""
        if evaluation_share is None and evaluation_options is not None:
            raise ValueError("evaluation_options need evaluation_share, such as 0.2")
        if evaluation_share is not None:
            self.__dict__[_REQUESTED] = (evaluation_share, evaluation_options)
        try:
            yield
        finally:
            for name in (_REQUESTED, _RECORDS):
                self.__dict__.pop(name, None)

    def _plan_all(self, n: int, n_features: int) -> tuple[Plan, Certificate]:
        """Return the plan of a fit to n records, and the certificate of all that it releases."""
        if _REQUESTED not in self.__dict__:
            plan = self.plan(n, n_features)
            return plan, plan.certificate
        from pairdp.estimators.held_out_records import held_out_records

        held_out = held_out_records(self, n, n_features, *self.__dict__[_REQUESTED])
        self.__dict__[_RECORDS] = held_out
        return held_out.plan.training, held_out.plan.certificate

    @property
    def _held_out(self) -> HeldOutRecords | None:
        """The records that the fit under way holds out."""
        return self.__dict__.get(_RECORDS)
