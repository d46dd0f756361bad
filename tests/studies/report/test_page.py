from __future__ import annotations

import base64
import dataclasses
import json
import re
import zlib
from collections import Counter
from html.parser import HTMLParser
from pathlib import Path

import pytest

from pairdp.drawing.text import measured
from pairdp.studies.report import render, write_report
from pairdp.studies.report.page import LIMIT, is_quick
from pairdp.studies.results import Cell, Remark, Results
from tests.studies.report.synthetic import make_many, make_results

HOSTILE = "</script><script>alert(1)</script><img src=x onerror='alert(1)'>\"&'"
EMPTY = Results("Nothing yet", (), (), {}, {})
CELL = Cell(
    "xue2021", "Table 4", "diabetes", "AUC", "auto", "certified", "honest", "ε", 0.5,
    0.75, 0.7, 0.8, 20, "key",
)  # fmt: skip


class Reader(HTMLParser):
    """Reads a page: its elements with their attributes, and the texts of table cells."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.cells: list[str] = []
        self._inside = False
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag in ("td", "th"):
            self.cells.append("")
        self._inside = tag in ("td", "th") or (self._inside and tag in ("a", "i", "small", "sup"))

    def handle_endtag(self, tag: str) -> None:
        self._inside = self._inside and tag in ("a", "i", "small", "sup")

    def handle_data(self, data: str) -> None:
        if self._inside:
            self.cells[-1] += data


def one(**changes: object) -> Results:
    return Results("One", (dataclasses.replace(CELL, **changes),), (), {}, {})  # type: ignore[arg-type]


def unpack(page: str) -> dict[str, dict[str, str]]:
    packed = re.search(r'id="packed">([^<]*)<', page)
    assert packed is not None
    return json.loads(zlib.decompress(base64.b64decode(packed[1])))  # type: ignore[no-any-return]


def test_every_cell_is_in_a_table() -> None:
    results = make_results()
    shown = Counter(Reader(render(results)).cells)
    for cell in results.cells:
        text = measured(cell.mean)
        matching = [s for s in shown if s.split(" ")[0] == text]
        if cell.certificate:
            proved = results.certificates[cell.certificate]["claim_is_proved"]
            matching = [s for s in matching if ("✓" if proved else "✗") in s]
        if cell.low < cell.high:
            width = measured(cell.high - cell.mean, cell.mean)
            matching = [s for s in matching if f"± {width}" in s]
        assert matching, cell


def test_figures_of_the_paper_stand_under_both_protocols() -> None:
    paper = dataclasses.replace(CELL, kind="paper", protocol="", mean=0.77, low=0.77, high=0.77)
    ours = [dataclasses.replace(CELL, protocol=p, certificate="") for p in ("paper", "honest")]
    page = render(Results("", (paper, *ours), (), {}, {}))
    assert page.count("<figure>") == 2
    assert Reader(page).cells.count("0.7700") == 2
    alone = render(Results("", (paper,), (), {}, {}))
    assert alone.count("<figure>") == 1
    assert "numbers of the paper" in alone


def test_runs_on_made_data_have_no_protocol() -> None:
    page = render(one(protocol=""))
    assert page.count("<figure>") == 1
    assert "numbers of the paper" not in page
    assert "honest protocol</span>" in render(one(protocol="honest"))


def test_links_lead_to_their_certificates() -> None:
    results = make_results()
    page = render(results)
    tags = Reader(page).tags
    places = {attrs["id"] for _, attrs in tags if "id" in attrs}
    links = [attrs["href"] for tag, attrs in tags if tag == "a" and "href" in attrs]
    assert {(href or "").lstrip("#") for href in links} <= places
    private = sum(bool(cell.certificate) for cell in results.cells)
    own = len(results.certificates)
    assert sum(bool(re.fullmatch(r"#c\d+", href or "")) for href in links) == private + own
    texts = unpack(page)
    assert len(texts) == own
    statements = {text["statement"] for text in texts.values()}
    assert statements == {entry["statement"] for entry in results.certificates.values()}
    assert page.count("<td class=no>NOT proved") == sum(
        not entry["claim_is_proved"] for entry in results.certificates.values()
    )


def test_a_private_number_without_certificate_is_marked() -> None:
    def is_marked(results: Results) -> bool:
        return any("no certificate" in text for text in Reader(render(results)).cells)

    assert is_marked(one())
    assert is_marked(one(kind="printed", certificate=""))
    assert not is_marked(one(kind="baseline", certificate=""))
    assert not is_marked(make_results())


@pytest.mark.parametrize(
    "field", ["study", "exhibit", "panel", "measure", "series", "x_name", "note"]
)
@pytest.mark.parametrize("xs", [(0.5,), (0.5, 1.0)])
@pytest.mark.parametrize("kind", ["certified", "baseline"])
def test_a_hostile_cell_injects_nothing(field: str, xs: tuple[float, ...], kind: str) -> None:
    harmless = [dataclasses.replace(CELL, x=x, kind=kind) for x in xs]
    hostile = [dataclasses.replace(cell, **{field: HOSTILE}) for cell in harmless]
    harmless = [dataclasses.replace(cell, **{field: "harmless"}) for cell in harmless]
    assert_same_elements(
        Results("", tuple(hostile), (), {}, {}), Results("", tuple(harmless), (), {}, {})
    )


def assert_same_elements(hostile: Results, harmless: Results) -> None:
    page = render(hostile)
    assert "<img" not in page
    assert "alert(1)</script>" not in page
    found = [tag for tag, _ in Reader(page).tags]
    assert found == [tag for tag, _ in Reader(render(harmless)).tags]
    names = {name for _, attrs in Reader(page).tags for name in attrs}
    assert not any(name.startswith("on") for name in names)


def test_hostile_words_inject_nothing() -> None:
    def make(word: str) -> Results:
        entry = {
            "statement": word, "epsilon": word, "delta": word, "claim_is_proved": False,
            "json": {"algorithm": word, "n": word, "calibration": word},
        }  # fmt: skip
        remark = Remark("xue2021", "Table 4", word, word)
        return Results(
            word, (CELL,), (remark, Remark(word, word, word, word)), {"key": entry}, {word: word}
        )

    assert_same_elements(make(HOSTILE), make("harmless"))
    assert unpack(render(make(HOSTILE)))["c1"]["statement"] == HOSTILE
    page = render(EMPTY, [HOSTILE], [{HOSTILE: HOSTILE}])
    assert "<img" not in page


def test_nothing_is_loaded_from_elsewhere() -> None:
    page = render(make_results())
    assert "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'" in page
    for tag, attrs in Reader(page).tags:
        for name in ("src", "href", "action", "srcset"):
            target = attrs.get(name) or "#"
            assert target.startswith(("#", "data:,")), (tag, target)
    assert "@import" not in page
    assert set(re.findall(r"url\((.)", page)) == {"#"}


@pytest.mark.parametrize("certificates", [300, pytest.param(1500, marks=pytest.mark.slow)])
def test_a_report_of_all_studies_is_small(certificates: int) -> None:
    page = render(make_many(6000, certificates))
    assert len(page.encode()) < LIMIT
    texts = unpack(page).values()
    assert len(texts) == certificates
    assert all(text["statement"] for text in texts)
    assert certificates > 300 or all(text["document"] for text in texts)
    filled = [text for text in Reader(page).cells if "±" in text]
    assert len(filled) == 6000


def test_a_huge_report_keeps_statements_and_drops_the_documents() -> None:
    results = make_many(6000, 300)
    padded = {  # long digits, which do not compress
        key: {**entry, "json": {**entry["json"], "noise_source": str(7 ** (900 + i))}}
        for i, (key, entry) in enumerate(results.certificates.items())
    }
    page = render(dataclasses.replace(results, certificates=padded))
    texts = unpack(page).values()
    assert not any(text["document"] for text in texts)
    assert "are in results.json" in page
    assert "are in results.json" not in render(make_many(100, 10))
    assert all(text["statement"] for text in texts)


def test_the_same_results_give_the_same_page() -> None:
    assert render(make_results()) == render(make_results())


def test_results_without_cells_are_a_page() -> None:
    page = render(EMPTY)
    assert "Nothing yet" in page
    assert "<figure>" not in page


def test_the_summary_stands_first() -> None:
    page = render(make_results(), ["auto wins 8 of 8."], [{"exhibit": "Table 4"}, {"cells": "8"}])
    assert page.index("auto wins 8 of 8.") < page.index("<nav") < page.index("<figure>")
    assert Reader(page).cells[:6] == ["exhibit", "cells", "Table 4", "", "", "8"]
    assert 'id="summary"' not in render(make_results())


def test_a_long_summary_is_folded() -> None:
    rows = [{"cell": str(i)} for i in range(30)]
    assert "All 30 comparisons" in render(EMPTY, (), rows)
    assert "<details>" not in render(EMPTY, (), rows[:5])


def test_remarks_keep_their_lines_and_stand_with_their_exhibit() -> None:
    page = render(make_results())
    exhibit = page[page.index('id="exhibit-1-1"') :]
    assert exhibit.index("<pre>σ = 2 G √(2 ln(1.25/δ)) / (λ n ε)\n  = ") < exhibit.index("<figure>")
    study = page[page.index('id="study-2"') :]
    assert study.index("1200 &gt; 512") < study.index("<h3>")


@pytest.mark.parametrize(
    ("text", "folded"),
    [
        ("one line", False), ("", False), ("\n".join("123456"), False),
        ("\n".join("1234567"), True), ("words " * 100, False), ("words " * 200, True),
    ],
)  # fmt: skip
def test_a_long_remark_is_folded_under_its_title(text: str, folded: bool) -> None:
    page = render(Results("", (), (Remark("xue2021", "", "A title", text),), {}, {}))
    title = "<summary><h4>A title</h4></summary>" if folded else '"remark"><h4>A title</h4>'
    assert f"{title}<pre>{text}</pre>" in page
    assert page.count("<details>") == page.count("</details>") == folded


@pytest.mark.parametrize(
    ("facts", "quick"),
    [
        ({}, False),
        ({"command": "pairdp study all"}, False),
        ({"command": "pairdp study all --quick --jobs 2"}, True),
        ({"quick": "yes"}, True),
        ({"quick": "no"}, False),
    ],
)
def test_a_quick_run_says_so(facts: dict[str, str], quick: bool) -> None:
    assert is_quick(facts) == quick
    page = render(dataclasses.replace(EMPTY, facts=facts))
    assert ("Quick run." in page) == quick


def test_a_report_is_written_whole(tmp_path: Path) -> None:
    path = tmp_path / "report.html"
    write_report(make_results(), path, ["A finding."])
    assert path.read_text("utf-8") == render(make_results(), ["A finding."])
    assert [file.name for file in tmp_path.iterdir()] == ["report.html"]


def test_what_comes_twice_is_shown_twice() -> None:
    twice = (CELL, dataclasses.replace(CELL, mean=0.76))
    cells = Reader(render(Results("", twice, (), {}, {}))).cells
    assert sum(text.startswith("0.7500") for text in cells) == 1
    assert sum(text.startswith("0.7600") for text in cells) == 1


def test_runs_that_differ_are_stated_with_each_value() -> None:
    some = (CELL, dataclasses.replace(CELL, x=1.0, runs=7))
    cells = Reader(render(Results("", some, (), {}, {}))).cells
    assert "7 to 20" in cells
    assert any("7 runs" in text for text in cells)


def test_equal_notes_are_printed_once() -> None:
    noted = tuple(dataclasses.replace(CELL, x=x, note="below the burn-in") for x in (0.5, 1.0))
    page = render(Results("", noted, (), {}, {}))
    assert page.count("below the burn-in") == 1
    assert page.count("<sup>1</sup>") == 2
