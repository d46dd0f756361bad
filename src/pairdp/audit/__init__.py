"""Audits: lower bounds on ε from runs, to try and break a guarantee."""

from pairdp.audit.counting import Counts
from pairdp.audit.estimators import audit_estimator
from pairdp.audit.functions import audit
from pairdp.audit.neighbours import Neighbours, canaries, worst_cases
from pairdp.audit.one_run import audit_one_run, one_run_epsilon
from pairdp.audit.plans import audit_algorithm, audit_plan, worst_neighbours
from pairdp.audit.report import AuditReport, Evidence
from pairdp.audit.search import search
from pairdp.audit.tight_loss import TightLoss

__all__ = [
    "AuditReport",
    "Counts",
    "Evidence",
    "Neighbours",
    "TightLoss",
    "audit",
    "audit_algorithm",
    "audit_estimator",
    "audit_one_run",
    "audit_plan",
    "canaries",
    "one_run_epsilon",
    "search",
    "worst_cases",
    "worst_neighbours",
]
