"""The privacy core: budgets, mechanisms, composition, noise and certificates.

Everything here is a function of public facts. It knows nothing of losses or
algorithms, and never sees a record except as the value that a mechanism adds noise to.
"""

from pairdp.privacy import (  # noqa: F401  (they register)
    descent_bounds,
    iterate_bounds,
    moment_bounds,
    online_bounds,
    prefix_sums,
    record_bounds,
    scatter_bounds,
    score_bounds,
    stochastic_bounds,
)
from pairdp.privacy.budget import Budget, default_delta
from pairdp.privacy.calibration import noise_multiplier
from pairdp.privacy.certificate import Certificate, TradeOff
from pairdp.privacy.composition import PrivacyCurve, gaussian_ratio
from pairdp.privacy.errors import BudgetExceededError, CertificateError, LedgerError
from pairdp.privacy.events import (
    ApproximateEvent,
    Event,
    GaussianEvent,
    NonPrivateEvent,
    ParallelEvent,
    PureEvent,
    SampledEvent,
    SequentialEvent,
)
from pairdp.privacy.ledger import BudgetLedger, Remaining
from pairdp.privacy.ledger_file import Spend
from pairdp.privacy.mechanisms import (
    GaussianMechanism,
    KNormMechanism,
    LaplaceMechanism,
    Mechanism,
    NoMechanism,
)
from pairdp.privacy.noise import NoiseReuseError, NoiseSource
from pairdp.privacy.packing import pack, packed_dimension, unpack
from pairdp.privacy.release import Part, Release
from pairdp.privacy.sampling import FixedSizeSampling, PoissonSampling, RepeatedDraws, Sampling
from pairdp.privacy.sensitivity import Bound, Sensitivity, register_bound

__all__ = [
    "ApproximateEvent",
    "Bound",
    "Budget",
    "BudgetExceededError",
    "BudgetLedger",
    "Certificate",
    "CertificateError",
    "Event",
    "FixedSizeSampling",
    "GaussianEvent",
    "GaussianMechanism",
    "KNormMechanism",
    "LaplaceMechanism",
    "LedgerError",
    "Mechanism",
    "NoMechanism",
    "NoiseReuseError",
    "NoiseSource",
    "NonPrivateEvent",
    "ParallelEvent",
    "Part",
    "PoissonSampling",
    "PrivacyCurve",
    "PureEvent",
    "Release",
    "Remaining",
    "RepeatedDraws",
    "SampledEvent",
    "Sampling",
    "Sensitivity",
    "SequentialEvent",
    "Spend",
    "TradeOff",
    "default_delta",
    "gaussian_ratio",
    "noise_multiplier",
    "pack",
    "packed_dimension",
    "register_bound",
    "unpack",
]
