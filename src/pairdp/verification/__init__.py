"""Verification: plan again from the facts of a certificate, and recompute by other routes."""

from pairdp.privacy.certificates.recomputation import Check
from pairdp.verification.certificates import verify
from pairdp.verification.files import verify_file
from pairdp.verification.models import verify_model
from pairdp.verification.report import Report

__all__ = ["Check", "Report", "verify", "verify_file", "verify_model"]
