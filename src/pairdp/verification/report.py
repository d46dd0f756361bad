"""The report of a verification."""

from __future__ import annotations

from dataclasses import dataclass

from pairdp._checks import on_one_line
from pairdp._version import __version__
from pairdp.privacy import Certificate
from pairdp.privacy.certificates.on_trust import trust_lines
from pairdp.privacy.certificates.recomputation import Check as Check


@dataclass(frozen=True)
class Report:
    """The result of `verify` for a certificate that it does not refuse.

    Attributes
    ----------
    certificate : Certificate
        The certificate.
    checks : tuple of Check
        Every number that was recomputed.
    notes : tuple of str
        What a reader must know and no recomputation can check.
    not_planned : str
        Why it could not be planned again; empty if it was, with the same result.
    on_trust : tuple of str
        Import paths of the classes outside pairdp whose declarations are taken on trust.
    """

    certificate: Certificate
    checks: tuple[Check, ...]
    notes: tuple[str, ...] = ()
    not_planned: str = ""
    on_trust: tuple[str, ...] = ()

    @property
    def planned_again(self) -> bool:
        """Whether planning again from the certificate's facts gave the same certificate."""
        return not self.not_planned

    @property
    def holds(self) -> bool:
        """Whether it was planned again and claims privacy: the claim holds for the facts."""
        return self.planned_again and self.certificate.budget is not None

    @property
    def headline(self) -> str:
        """One sentence: the certificate holds, or why that is not known."""
        certificate, budget = self.certificate, self.certificate.budget
        algorithm, version = on_one_line(certificate.algorithm), certificate.library_version
        claim = "" if budget is None else f"ε = {budget.epsilon:g}, δ = {budget.delta:g}, "
        claim += f"n = {certificate.n}"
        if (unit := certificate.unit) is not None:
            claim += f", for up to {unit.max_records} records of each {on_one_line(unit.name)}"
        if not self.planned_again:
            what = "no privacy is claimed" if budget is None else f"the claim is {claim}"
            return (
                f"NOT PLANNED AGAIN: {on_one_line(self.not_planned)}. The arithmetic of the "
                f"certificate of {algorithm} is consistent; {what}."
            )
        head = f"The certificate of {algorithm} "
        head += f"holds: {claim}" if budget else "is consistent and claims no privacy"
        if version != __version__:
            made = f"made by pairdp {on_one_line(version)}, planned again by {__version__}"
            head += f"; {made}: same numbers"
        return f"{head}."

    def __str__(self) -> str:
        notes = [f"note {note}" for note in self.notes]
        if self.on_trust:
            notes.append(f"note classes outside pairdp: {', '.join(self.on_trust)}")
        lines = (f"  {on_one_line(str(line))}" for line in (*self.checks, *notes))
        first = [*map(on_one_line, trust_lines(self.certificate)), self.headline]
        # What is on trust comes before what holds; NOT PLANNED AGAIN comes before everything.
        return "\n".join([*(first if self.planned_again else reversed(first)), *lines])
