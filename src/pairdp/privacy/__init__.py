"""The privacy core: budgets, mechanisms, composition, noise and certificates.

Everything here is a function of public facts. It knows nothing of losses or
algorithms, and never sees a record except as the value that a mechanism adds noise to.
"""

from pairdp.privacy.accounting.budget import Budget, default_delta
from pairdp.privacy.accounting.calibration import noise_multiplier
from pairdp.privacy.accounting.composition import PrivacyCurve, composed_mu
from pairdp.privacy.accounting.events import (
    ApproximateEvent,
    Event,
    GaussianEvent,
    NonPrivateEvent,
    ParallelEvent,
    PureEvent,
    SampledEvent,
    SequentialEvent,
)
from pairdp.privacy.accounting.sampling import (
    FixedSizeSampling,
    PoissonSampling,
    RepeatedDraws,
    Sampling,
)
from pairdp.privacy.bounds.sensitivity import Bound, Sensitivity, register_bound
from pairdp.privacy.certificates.certificate import Certificate, TradeOff
from pairdp.privacy.certificates.release import Part, Release
from pairdp.privacy.errors import BudgetExceededError, CertificateError, LedgerError
from pairdp.privacy.ledger.budget_ledger import BudgetLedger, Remaining
from pairdp.privacy.ledger.document import Spend
from pairdp.privacy.mechanisms.additive_noise import (
    GaussianMechanism,
    KNormMechanism,
    LaplaceMechanism,
    Mechanism,
    NoMechanism,
)
from pairdp.privacy.mechanisms.noise_source import NoiseReuseError, NoiseSource
from pairdp.privacy.mechanisms.packing import pack, packed_dimension, unpack

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
    "composed_mu",
    "default_delta",
    "noise_multiplier",
    "pack",
    "packed_dimension",
    "register_bound",
    "unpack",
]
