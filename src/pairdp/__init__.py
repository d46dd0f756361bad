"""Differentially private learning from pairs of records."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from pairdp._version import __version__

if TYPE_CHECKING:
    from pairdp.estimators import (
        BoundsScaler,
        DataNormWarning,
        NoSignalWarning,
        OnlinePrivateMetric,
        OnlinePrivateRanker,
        PrivateLinearClassifier,
        PrivateLinearRegressor,
        PrivateMetric,
        PrivateRanker,
        load,
        read_bounds,
        save,
    )
    from pairdp.model_file import ModelFileError
    from pairdp.privacy import (
        Budget,
        BudgetExceededError,
        BudgetLedger,
        Certificate,
        CertificateError,
        LedgerError,
        NoiseSource,
        default_delta,
    )
    from pairdp.verification import verify

# Where each public name lives. They are imported when first asked for, so that
# ``import pairdp`` and ``pairdp --help`` do not wait for scientific libraries.
_HOMES = {
    "Budget": "privacy",
    "BudgetExceededError": "privacy",
    "BudgetLedger": "privacy",
    "BoundsScaler": "estimators",
    "Certificate": "privacy",
    "CertificateError": "privacy",
    "DataNormWarning": "estimators",
    "LedgerError": "privacy",
    "ModelFileError": "model_file",
    "NoSignalWarning": "estimators",
    "NoiseSource": "privacy",
    "OnlinePrivateMetric": "estimators",
    "OnlinePrivateRanker": "estimators",
    "PrivateLinearClassifier": "estimators",
    "PrivateLinearRegressor": "estimators",
    "PrivateMetric": "estimators",
    "PrivateRanker": "estimators",
    "default_delta": "privacy",
    "load": "estimators",
    "read_bounds": "estimators",
    "save": "estimators",
    "verify": "verification",
}

__all__ = [
    "BoundsScaler",
    "Budget",
    "BudgetExceededError",
    "BudgetLedger",
    "Certificate",
    "CertificateError",
    "DataNormWarning",
    "LedgerError",
    "ModelFileError",
    "NoSignalWarning",
    "NoiseSource",
    "OnlinePrivateMetric",
    "OnlinePrivateRanker",
    "PrivateLinearClassifier",
    "PrivateLinearRegressor",
    "PrivateMetric",
    "PrivateRanker",
    "__version__",
    "default_delta",
    "load",
    "read_bounds",
    "save",
    "verify",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'pairdp' has no attribute {name!r}")
    value = getattr(import_module(f"pairdp.{_HOMES[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
