"""``pairdp study``: from a command to results and a report, and back to where it stopped."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from pairdp.cli.main import main
from pairdp.cli.study_command import command as study
from pairdp.studies import engine
from pairdp.studies.data import loader
from pairdp.studies.papers import STUDIES
from pairdp.studies.results import Results
from tests.cli.helpers import command
from tests.studies.data.places import DATA, needs_data

QUICK = ("study", "kang2021", "--quick", "--jobs", "1", "--out", "out")


def run(*arguments: str) -> tuple[int, str, str]:
    found = CliRunner().invoke(main, list(arguments))
    return found.exit_code, found.stdout, found.stderr


def test_names_are_those_of_the_studies() -> None:
    assert study.params[0].type.choices == (*STUDIES, "all")  # type: ignore[attr-defined]


@pytest.mark.slow
def test_a_quick_study_from_beginning_to_end_and_again() -> None:
    code, shown, _ = run(*QUICK, "--json")
    assert code == 0
    first = json.loads(shown)
    assert first["repeated"] == 0
    assert first["pieces"] > 0
    results = Results.from_json("out/results.json")
    assert results.cells == Results.from_csv("out/results.csv").cells
    assert len(results.cells) == first["cells"]
    private = [cell for cell in results.cells if cell.kind in ("printed", "certified")]
    assert private
    assert all(cell.certificate in results.certificates for cell in private)
    assert results.facts["quick"] == "yes"
    assert results.facts["permutations"] == "3"
    assert "Quick run" in Path("out/report.html").read_text()
    names = [Path(path).name for path in first["files"]]
    assert names == ["results.csv", "results.json", "report.html", "plots"]
    plots = list(Path("out/plots").glob("*.svg"))
    assert len(plots) == Path("out/report.html").read_text().count("<figure>") > 0
    code, shown, _ = run(*QUICK)
    assert code == 0
    assert f"{first['pieces']} jobs, 0 of them run now." in shown
    again = Results.from_json("out/results.json")
    assert (again.cells, again.certificates) == (results.cells, results.certificates)
    run(*QUICK[:-1], "other")
    assert Results.from_json("other/results.json").cells == results.cells


def test_an_interrupt_is_told_and_what_is_done_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    work, done = engine._work, []

    def interrupted(*arguments: object) -> object:
        if len(done) == 2:
            raise KeyboardInterrupt
        done.append(None)
        return work(*arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(engine, "_work", interrupted)
    code, _, said = run(*QUICK)
    assert code == 130
    assert said.startswith("Error: interrupted: finished jobs are kept")
    assert not Path("out/results.json").exists()
    monkeypatch.setattr(engine, "_work", work)
    code, shown, _ = run(*QUICK, "--json")
    assert code == 0
    assert json.loads(shown)["repeated"] == 2


def test_missing_data_is_told_before_anything_is_run(tmp_path: Path) -> None:
    code, shown, _ = run("study", "xue2021", "--quick", "--data", str(tmp_path), "--json")
    assert code == 1
    assert "diabetes.csv cannot be read" in json.loads(shown)["error"]
    assert not Path("study").exists()


def test_a_single_exhibit_is_run_and_an_unknown_one_lists_those_that_there_are() -> None:
    code, _, _ = run("study", "wang2024", "--quick", "--figure", "1", "--jobs", "1")
    assert code == 0
    results = Results.from_json("study/results.json")
    assert {cell.exhibit for cell in results.cells} == {"Figure 1"}
    assert results.facts["command"] == "pairdp study wang2024 --quick --exhibit 'Figure 1'"
    code, _, said = run("study", "wang2024", "--table", "4", "--out", "other")
    assert code == 1
    assert "wang2024 has no exhibit 'Table 4'; it has: Figure 1; Figure 2" in said
    assert not Path("other").exists()


def test_errors_of_all_studies_have_a_line_each() -> None:
    code, _, said = run("study", "all", "--table", "9")
    first, *lines = said.splitlines()
    assert (code, first) == (1, "Error: no study has this")
    assert [line.split()[0] for line in lines] == list(STUDIES)
    code, shown, _ = run("study", "all", "--table", "9", "--json")
    assert code == 1
    assert len(json.loads(shown)["details"]) == len(STUDIES)


def test_data_sets_that_are_installed_need_no_directory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loader, "fetch_url", lambda url: pytest.fail(f"{url} was fetched"))
    monkeypatch.delenv("PAIRDP_DATA", raising=False)
    arguments = ("--quick", "--permutations", "2", "--figure", "3", "--dataset", "hepatitis")
    code, _, said = run("study", "huai2020", *arguments, "--jobs", "1")
    assert code == 0, said
    results = Results.from_json("study/results.json")
    assert {cell.panel.split(",")[0] for cell in results.cells} == {"hepatitis"}
    assert "OffPairStrC" in {cell.series for cell in results.cells}


@pytest.mark.parametrize(
    "wrong", [("other",), ("all", "--permutations", "1"), ("all", "--jobs", "0"), ()]
)
def test_wrong_usage_is_refused(wrong: tuple[str, ...]) -> None:
    assert run("study", *wrong)[0] == 2


def test_help_imports_no_studies() -> None:
    found = command("study", "--help")
    assert found.returncode == 0
    assert "report.html" in found.stdout


@pytest.mark.slow
@needs_data
def test_a_study_of_data_over_two_processes() -> None:
    arguments = ("study", "yang2021", "--quick", "--permutations", "2", "--jobs", "2")
    code, shown, _ = run(*arguments, "--data", str(DATA), "--out", "out", "--json")
    assert code == 0, shown
    results = Results.from_json("out/results.json")
    assert {cell.protocol for cell in results.cells} == {"paper", "honest", ""}
    assert "honest protocol" in results.facts
    assert "data set diabetes" in results.facts
    assert results.facts["command"] == "pairdp study yang2021 --quick --permutations 2"
