"""The sections on what was released, and what that means for one person."""

from __future__ import annotations

from collections.abc import Iterator

from pairdp.drawing import Figure, write_group
from pairdp.drawing.text import number
from pairdp.privacy.certificates.curve_figure import curve_figure
from pairdp.privacy.certificates.release import Release
from pairdp.privacy.mechanisms.additive_noise import NoMechanism
from pairdp.report.attackers import Attackers
from pairdp.report.facts import ReportFacts
from pairdp.report.html import Html, paragraphs, section, table, tag
from pairdp.report.words import budget_words, count, one_in, percent, whose

_PRIORS = (0.01, 0.1, 0.5)
_RATES = (0.001, 0.01, 0.05, 0.1, 0.5)


def released_section(facts: ReportFacts) -> Html:
    """Return what was released, in plain words, with the noise of each part."""
    certificate, card = facts.certificate, facts.card
    source = "a stream of up to" if facts.is_stream else "a table of"
    who = whose(certificate.unit)
    said = [
        (
            f"The model is {card.purpose}. It was learned from {source} n = {count(certificate.n)} "
            f"records by the algorithm “{certificate.algorithm}”. The number n is public."
        )
    ]
    if facts.is_stream:
        said.append("All models of the stream, up to its end, are covered together.")
    if certificate.budget is not None:
        said.append(
            "The records were used only to compute the numbers below. Random noise was added to "
            f"each of them, large enough to hide {who}. Everything else about the model follows "
            "from these noisy numbers and from public facts."
        )
    rows = [_release(release) for release in certificate.releases]
    head = ("what", "numbers", "noise on each number")
    listed = table(head, rows, caption="Everything that was computed from the records")
    return section("released", "What was released", paragraphs(*said), listed)


def _release(release: Release) -> tuple[str, str, str]:
    times = "" if release.count == 1 else f", {count(release.count)} times"
    if isinstance(release.mechanism, NoMechanism):
        noise = "none"
    else:
        kind = {"gaussian": "Gaussian", "laplace": "Laplace", "l1-laplace": "Laplace"}
        law = kind.get(release.mechanism_name, release.mechanism_name)
        noise = f"{law}, scale {number(float(f'{release.mechanism.scale:.4g}'))}"
    part = release.part
    name = release.name
    if part is not None:
        name += f", from the {count(part.size)} records of the part {part.name}"
    return name, f"{count(release.dimension)}{times}", noise


def privacy_figures(facts: ReportFacts) -> list[Figure]:
    """Return the figures of the section on attackers."""
    attackers = facts.attackers
    if attackers is None:
        return []
    curve = curve_figure(facts.certificate, "Pairs of ε and δ that hold", attackers.curve)
    return [attackers.figure(), curve]


def meaning_section(facts: ReportFacts, figures: list[Figure]) -> Html:
    """Return what the guarantee means for one person, as bounds on every attacker."""
    attackers = facts.attackers
    if attackers is None:
        return section(
            "meaning",
            "What this means for one person",
            paragraphs("No guarantee holds, so nothing bounds what an attacker can learn."),
        )
    return section(
        "meaning",
        "What this means for one person",
        paragraphs(*_in_words(facts, attackers)),
        tag("h3", "How much surer an attacker can become"),
        paragraphs(
            f"Guesses are right in at most {percent(attackers.guess, up=True)} of cases over all "
            "outcomes of the noise. Some outcomes say more than others, and this table is about "
            "those that say the most:"
        ),
        _odds_table(attackers),
        tag("h3", "How well an attacker can find members"),
        _rates_table(attackers),
        tag("h3", "Both as curves"),
        paragraphs(
            "In the first figure no attack lies above the line; the grey line is guessing. In the "
            "second, the square is the claim, one pair of ε and δ. The noise satisfies every pair "
            "on the line, and all tables here are computed from the whole of it."
        ),
        Html(write_group("privacy", figures, legend=False)),
    )


def _in_words(facts: ReportFacts, attackers: Attackers) -> Iterator[str]:
    unit = facts.certificate.unit
    mine = "one person's record was" if unit is None else f"the records of one {unit.name} were"
    yield (
        "Assume the strongest attacker: one who sees everything listed above, knows the method and "
        f"all public numbers, and knows every other record. Whether {mine} in the data, or what "
        "was in it, is all that this attacker does not know."
    )
    yield (
        "If a coin decided whether the record was used, a guess without the model would be right "
        f"in {percent(0.5)} of cases. With the model, no method is right in more than "
        f"{percent(attackers.guess, up=True)}."
    )
    for what, certificate in facts.others:
        yield (
            f"These bounds do NOT include {what}, a release of its own with "
            f"{budget_words(certificate.budget)}. For a person whose record was used for it too, "
            "privacy losses add up, and an attacker who sees both can do better than is stated "
            "here."
        )


def _odds_table(attackers: Attackers) -> Html:
    failing = attackers.except_with
    rows = [
        (percent(prior), f"at most {percent(attackers.posterior(prior), up=True)}")
        for prior in _PRIORS
    ]
    except_with = (
        "always"
        if failing == 0
        else f"except with a probability of at most {number(failing)} ({one_in(failing)}) over the "
        "noise"
    )
    head = ("the attacker's belief before", "after seeing what is listed above")
    belief = (
        "Belief that a person's record is in the data, or that it has one rather than another "
        f"content; {except_with}"
    )
    return table(head, rows, caption=belief, cls="numbers")


def _rates_table(attackers: Attackers) -> Html:
    rows = [
        (
            percent(rate),
            f"at most {percent(attackers.true_positive_rate(rate), up=True)}",
        )
        for rate in _RATES
    ]
    head = ("persons falsely accused", "persons in the data found")
    return table(
        head,
        rows,
        caption="Membership inference: the largest true positive rate of any test, by its false "
        "positive rate. Guessing without the model finds the same share that it accuses falsely.",
        cls="numbers",
    )
