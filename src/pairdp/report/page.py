"""The report as one HTML page."""

from __future__ import annotations

from importlib.resources import files

from pairdp.drawing import write_page
from pairdp.drawing.text import number
from pairdp.report.check_sections import (
    STATES,
    ledger_section,
    limits_section,
    signature_section,
    statement_section,
    verification_section,
)
from pairdp.report.facts import ReportFacts
from pairdp.report.html import Html, join, section, tag
from pairdp.report.model_section import data_section, model_section
from pairdp.report.privacy_section import meaning_section, privacy_figures, released_section
from pairdp.report.quality_section import (
    digits,
    is_hidden,
    main_figure,
    quality_figures,
    quality_section,
    title_of,
)
from pairdp.report.words import count, percent, protects

_CONTENTS = {
    "released": "What was released",
    "meaning": "What this means for one person",
    "data": "The data",
    "model": "The model",
    "quality": "How good it is",
    "ledger": "The budget",
    "verification": "Verification",
    "limits": "What is not covered",
    "statement": "The exact statement",
    "signature": "Signature",
}


def render(facts: ReportFacts, command: str) -> str:
    """Return the page; it loads nothing from elsewhere, and depends on the facts alone.

    Parameters
    ----------
    facts : ReportFacts
        What to say.
    command : str
        The command that repeats the verification.
    """
    privacy, quality = privacy_figures(facts), quality_figures(facts)
    body = join(
        (
            _summary(facts),
            _contents(),
            released_section(facts),
            meaning_section(facts, privacy),
            data_section(facts),
            model_section(facts),
            quality_section(facts, quality),
            ledger_section(facts),
            verification_section(facts, command),
            limits_section(facts),
            statement_section(facts),
            signature_section(facts),
        )
    )
    return write_page(
        _title(facts),
        body,
        [*privacy, *facts.figures, *quality],
        header=_header(facts),
        css=files("pairdp.report").joinpath("report.css").read_text("utf-8"),
    )


def _title(facts: ReportFacts) -> str:
    name = facts.card.data_set or facts.card.kind
    loud = "" if facts.warning is None else f"{facts.warning[0]}: "
    return f"{loud}Privacy report · {name}"


def _header(facts: ReportFacts) -> Html:
    certificate = facts.certificate
    line = f"{facts.card.kind} · n = {count(certificate.n)} · {facts.date:%Y-%m-%d}"
    if facts.warning is None:
        return tag("p", line, cls="subtitle")
    title, sentence = facts.warning
    alert = tag("p", tag("strong", f"{title}. "), sentence, cls="alert", role="alert")
    return join((alert, tag("p", line, cls="subtitle")))


def _contents() -> Html:
    links = (tag("li", tag("a", title, href=f"#{place}")) for place, title in _CONTENTS.items())
    return tag("nav", tag("ul", *links), aria_label="Contents")


def _summary(facts: ReportFacts) -> Html:
    tiles = [_tile("protects", protects(facts.certificate), small=True)]
    budget = facts.certificate.budget
    if budget is None:
        tiles.append(_tile("privacy", "none", bad=True))
    else:
        tiles.append(
            _tile("ε (privacy loss)", number(budget.epsilon), bad=not facts.certificate.holds)
        )
        tiles.append(_tile("δ", number(budget.delta) if budget.delta else "0, pure"))
    state = facts.verified.state
    good = state == "holds" and facts.warning is None
    tiles.append(_tile("certificate", STATES[state], good=good, bad=state == "refused"))
    tiles.append(_quality_tile(facts))
    return section(
        "summary", "Summary", tag("p", _one_sentence(facts), cls="lead"), tag("dl", *tiles)
    )


def _quality_tile(facts: ReportFacts) -> Html:
    found = None if facts.evaluation is None else main_figure(facts.evaluation)
    if found is None:
        return _tile("quality", "not evaluated", small=True)
    name, value, interval = found
    if is_hidden(interval):
        return _tile(f"private {title_of(name)}", "hidden by noise", small=True)
    ends = "" if interval is None else f"{digits(interval[0])} to {digits(interval[1])}"
    return _tile(f"private {title_of(name)}", digits(value), note=ends)


def _tile(
    name: str,
    value: str,
    *,
    note: str = "",
    good: bool = False,
    bad: bool = False,
    small: bool = False,
) -> Html:
    style = "good" if good else "bad" if bad else None
    words = " ".join(filter(None, (style, "small" if small else None))) or None
    more = tag("dd", note, cls="note") if note else None
    return tag("div", tag("dt", name), tag("dd", value, cls=words), more)


def _one_sentence(facts: ReportFacts) -> str:
    attackers, unit = facts.attackers, facts.certificate.unit
    if attackers is None:
        return "This model has no privacy guarantee that holds. It must not be released as private."
    mine = "the record of any one person"
    they = "the person is in the data"
    if unit is not None:
        mine, they = f"all records of any one {unit.name}", "they are in the data"
    others = "".join(f" This does not include {what}." for what, _ in facts.others)
    return (
        f"Whoever sees this model learns almost the same as if {mine} had been left out or were "
        f"different: an attacker who knows everything else, and guesses whether {they}, is right "
        f"in at most {percent(attackers.guess, up=True)} of cases, instead of {percent(0.5)}."
        + others
    )
