"""The papers' algorithms, by the names they are published under."""

from __future__ import annotations

from pairdp.algorithms.base import Algorithm
from pairdp.algorithms.epoch_descent import EpochGradientDescent
from pairdp.algorithms.gradient_descent import GradientDescent
from pairdp.algorithms.noisy_descent import NoisyGradientDescent
from pairdp.algorithms.pairwise_sgd import PairwiseSGD
from pairdp.algorithms.phased_sgd import PhasedSGD
from pairdp.algorithms.stream_descent import StreamGradientDescent

DPGDSC = GradientDescent(output="last", name="DPGDSC (Xue 2021, Algorithm 1)")
"""Last iterate of gradient descent with output noise, strongly convex."""

DPGDC = GradientDescent(output="average", name="DPGDC (Xue 2021, Algorithm 4)")
"""Average iterate of gradient descent with output noise, convex."""

DPGDC2 = NoisyGradientDescent(output="average", name="DPGDC2 (Xue 2021, Algorithm 2)")
"""Gradient descent with gradient noise, average released."""

DPEGD = EpochGradientDescent(name="DPEGD (Xue 2021, Algorithm 3)")
"""Epoch gradient descent on disjoint parts."""

OFFPAIRSTRC = StreamGradientDescent(name="OffPairStrC (Huai 2020, Algorithm 3)")
"""Offline pairwise GIGA, strongly convex."""

OFFPAIRC = StreamGradientDescent(name="OffPairC (Huai 2020, Algorithm 4)")
"""Offline pairwise GIGA, regularised to strong convexity."""

KANG = NoisyGradientDescent(
    output="last", printed_rule="kang", name="Gradient perturbation (Kang 2021, Algorithm 1)"
)
"""Gradient descent with gradient noise, last iterate released."""

WANG_PAIRWISE = NoisyGradientDescent(
    output="average",
    batch_size=2,
    pairing="disjoint",
    regime="general",
    printed_rule="wang",
    name="DP-SGD-pairwise (Wang 2024, Algorithm 2)",
)
"""Steps on one pair with gradient noise, average released."""

WANG_POINTWISE = NoisyGradientDescent(
    output="average",
    batch_size=1,
    regime="general",
    printed_rule="wang",
    name="DP-SGD (Wang 2024, Algorithm 1)",
)
"""Steps on one record with gradient noise, average released; for losses of one record."""

YANG = PairwiseSGD(order="replacement", name="Pairwise SGD (Yang 2021, Algorithm 2)")
"""The current draw against all earlier ones, average released; needs no smoothness."""

YANG_SIMPLE = PhasedSGD(name="Phased SGD on consecutive pairs (Yang 2021, NeurIPS)")
"""Each record against the one before it, in phases on disjoint parts; linear time."""

PUBLISHED: dict[str, Algorithm] = {
    "DPGDSC": DPGDSC,
    "DPGDC": DPGDC,
    "DPGDC2": DPGDC2,
    "DPEGD": DPEGD,
    "OffPairStrC": OFFPAIRSTRC,
    "OffPairC": OFFPAIRC,
    "Kang2021": KANG,
    "Wang2024Pairwise": WANG_PAIRWISE,
    "Yang2021": YANG,
    "Yang2021Simple": YANG_SIMPLE,
}
"""Those for losses of pairs."""

POINTWISE: dict[str, Algorithm] = {"Wang2024Pointwise": WANG_POINTWISE}
"""Those for losses of one record."""


def published(name: str) -> Algorithm:
    """Return the algorithm that is published under a name."""
    from pairdp.online import ONLINE  # which stands on this package

    known: dict[str, Algorithm] = {**PUBLISHED, **POINTWISE, **ONLINE}
    try:
        return known[name]
    except KeyError:
        raise ValueError(
            f"no algorithm is published as {name!r}; known: {', '.join(known)}"
        ) from None
