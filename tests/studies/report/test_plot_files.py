from __future__ import annotations

import dataclasses
import re
from itertools import product
from pathlib import Path
from xml.etree import ElementTree

import pytest

from pairdp.drawing.colors import LIGHT, SERIES
from pairdp.drawing.file_legend import SAMPLE
from pairdp.studies.report import render, write_plots
from pairdp.studies.report.figures import KIND_NAMES, Plot, choose_styles, to_sections
from pairdp.studies.results import Cell, Results
from tests.studies.report.synthetic import make_many, make_results

SVG = "{http://www.w3.org/2000/svg}"
HOSTILE = "</text></svg><script>alert(1)</script><!-- ]]> x=3 class=e \"&amp;'\x00\x1b\ufffe"
CELL = Cell(
    "xue2021", "Table 4", "diabetes", "AUC", "DPGDSC", "certified", "honest", "ε", 0.5,
    0.75, 0.7, 0.8, 20, "",
)  # fmt: skip


def read(path: Path) -> ElementTree.Element:
    return ElementTree.fromstring(path.read_bytes())  # noqa: S314  # our own file


def texts(root: ElementTree.Element) -> list[str]:
    return [element.text or "" for element in root.iter(f"{SVG}text")]


def legend(root: ElementTree.Element) -> ElementTree.Element:
    return root.findall(f"{SVG}g")[1]


def plots_of(results: Results) -> list[Plot]:
    return [
        p for study in to_sections(results) for exhibit in study.exhibits for p in exhibit.plots
    ]


def write(tmp_path: Path, *cells: Cell) -> tuple[Path, ...]:
    return write_plots(Results("", cells, (), {}, {}), tmp_path)


def test_every_plot_of_the_page_is_a_file(tmp_path: Path) -> None:
    results = make_results()
    written = write_plots(results, tmp_path / "new" / "plots")
    assert sorted(written) == sorted((tmp_path / "new" / "plots").iterdir())
    assert len(written) == render(results).count("<figure>") == len(plots_of(results))
    for path in written:
        root = read(path)
        assert root.tag == f"{SVG}svg"
        size = [float(root.attrib[name]) for name in ("width", "height")]
        assert root.attrib["viewBox"] == f"0 0 {size[0]:g} {size[1]:g}"
        assert root[0].tag == f"{SVG}title"
        assert root[0].text


def test_names_say_what_a_plot_shows(tmp_path: Path) -> None:
    names = {path.name for path in write_plots(make_results(), tmp_path)}
    assert "xue2021-table-4-diabetes-auc-honest.svg" in names
    assert "kang2021-section-5-cancer-auc-paper.svg" in names


def test_names_are_safe_and_unique(tmp_path: Path) -> None:
    panels = ["a b", "a/b", "../../a b", "A  B", "a\x00b", "日本", "", "é", "x" * 400, HOSTILE]
    names = ["x", "X", "ε", "..", ""]
    cells = [
        dataclasses.replace(CELL, panel=panel, exhibit=exhibit)
        for panel, exhibit in product(panels, names)
    ]
    tricky = [dataclasses.replace(CELL, panel=p) for p in ("b", "B", "b auc honest 2", "b 2")]
    written = write(tmp_path, *cells, *tricky)
    assert len(set(written)) == len(written) == len(cells) + len(tricky)
    assert sorted(tmp_path.iterdir()) == sorted(written)
    assert all(re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*\.svg", path.name) for path in written)
    assert max(len(path.name) for path in written) < 140


def test_a_plot_without_a_name_has_a_file(tmp_path: Path) -> None:
    nameless = dataclasses.replace(CELL, study="日", exhibit="", panel="", measure="", protocol="")
    assert [path.name for path in write(tmp_path, nameless)] == ["plot.svg"]


@pytest.mark.parametrize("xs", [(0.5,), (0.5, 1.0)])
@pytest.mark.parametrize("kind", ["certified", "baseline"])
@pytest.mark.parametrize("field", ["study", "exhibit", "panel", "measure", "series", "x_name"])
def test_hostile_words_are_text(
    field: str, kind: str, xs: tuple[float, ...], tmp_path: Path
) -> None:
    cells = [
        dataclasses.replace(CELL, **{"x": x, "kind": kind, field: HOSTILE})  # type: ignore[arg-type]
        for x in xs
    ]
    (path,) = write(tmp_path, *cells)
    root = read(path)
    known = {"svg", "title", "desc", "style", "rect", "g", "path", "circle", "text"}
    assert {element.tag.removeprefix(SVG) for element in root.iter()} <= known
    assert not any(name.startswith("on") for element in root.iter() for name in element.attrib)
    words = "".join(root.itertext()).replace("\n", "").replace(" ", "")
    assert "</text></svg><script>alert(1)</script><!--]]>x=3class=e\"&amp;'" in words


@pytest.mark.parametrize("results", [make_results(), make_many(600, 1)], ids=["real", "many"])
def test_every_series_and_kind_is_in_the_legend(results: Results, tmp_path: Path) -> None:
    written = write_plots(results, tmp_path)
    for plot, path in zip(plots_of(results), written, strict=True):
        found = legend(read(path))
        names = [element.text for element in found.findall(f"{SVG}text")]
        assert names == list(dict.fromkeys(line.series for line in plot.lines))
        kinds = [element.findtext(f"{SVG}text") for element in found.findall(f"{SVG}g")]
        assert kinds == [KIND_NAMES[line.kind] for line in plot.lines]


def test_a_long_name_is_whole_in_the_legend(tmp_path: Path) -> None:
    name = "a very long name " * 12 + "end"
    kinds = ("paper", "printed", "certified", "baseline")
    (path,) = write(tmp_path, *(dataclasses.replace(CELL, series=name, kind=k) for k in kinds))
    root = read(path)
    rows = [element.text or "" for element in legend(root).findall(f"{SVG}text")]
    assert len(rows) > 3
    assert " ".join(rows) == name
    for entry in legend(root).findall(f"{SVG}g"):
        at = re.match(r"translate\((\S+) ", entry.attrib["transform"])
        assert at is not None
        end = float(at[1]) + SAMPLE + 6 + 6.7 * len(entry.findtext(f"{SVG}text") or "")
        assert end < float(root.attrib["width"])


def test_samples_look_like_their_lines(tmp_path: Path) -> None:
    for path in write_plots(make_results(), tmp_path):
        root = read(path)
        drawn, below = root.findall(f"{SVG}g")
        drawn_styles = {e.get("class") for e in drawn.iter() if re.match("m", e.get("class", ""))}
        drawn_styles.discard("middle")
        samples = {e.get("class") for e in below.iter() if re.match("m", e.get("class", ""))}
        assert samples == drawn_styles


def test_every_point_has_a_marker(tmp_path: Path) -> None:
    results = make_results()
    for plot, path in zip(plots_of(results), write_plots(results, tmp_path), strict=True):
        drawn = read(path).findall(f"{SVG}g")[0]
        markers = [e for e in drawn.iter() if re.fullmatch(r"m\d+", e.get("class", ""))]
        assert len(markers) == sum(len(line.cells) for line in plot.lines)


def test_styles_are_plain_and_complete(tmp_path: Path) -> None:
    for path in write_plots(make_results(), tmp_path):
        root = read(path)
        style = root.findtext(f"{SVG}style") or ""
        assert not re.search(r"var\(|color-mix|@|url|--", style)
        styled = set(re.findall(r"\.(\w+)\{", style))
        used = {word for e in root.iter() for word in e.get("class", "").split()}
        assert used <= styled
        assert not any(name.startswith("data-") for e in root.iter() for name in e.attrib)


def test_colours_are_those_of_the_page(tmp_path: Path) -> None:
    results = make_results()
    styles = choose_styles(to_sections(results))
    assert {f"c{i}" for i in range(SERIES + 1)} | {"ink", "soft", "card", "grid"} <= set(LIGHT)
    for plot, path in zip(plots_of(results), write_plots(results, tmp_path), strict=True):
        style = read(path).findtext(f"{SVG}style") or ""
        for key, line in enumerate(plot.lines):
            color = LIGHT[f"c{styles[line.series].color}"]
            assert f".l{key}{{fill:none;stroke:{color};" in style


def test_only_intervals_are_explained(tmp_path: Path) -> None:
    (path,) = write(tmp_path, CELL)
    assert "Bars: 95 % intervals of the means." in texts(read(path))
    (path,) = write(tmp_path, dataclasses.replace(CELL, low=0.75, high=0.75))
    assert "Bars: 95 % intervals of the means." not in texts(read(path))


def test_a_quick_run_says_so(tmp_path: Path) -> None:
    for facts, quick in (({"quick": "yes"}, True), ({}, False)):
        (path,) = write_plots(Results("", (CELL,), (), {}, facts), tmp_path)
        assert ("quick run" in path.read_text("utf-8")) == quick


def test_files_of_an_earlier_run_stay(tmp_path: Path) -> None:
    (old,) = write(tmp_path, dataclasses.replace(CELL, panel="old"))
    before = old.read_bytes()
    (new,) = write(tmp_path, dataclasses.replace(CELL, panel="new"))
    assert old.read_bytes() == before
    assert sorted(tmp_path.iterdir()) == sorted((old, new))


def test_results_without_cells_have_no_plots(tmp_path: Path) -> None:
    assert write(tmp_path / "plots") == ()
    assert list((tmp_path / "plots").iterdir()) == []
