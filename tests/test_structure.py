"""The tests themselves: short files, each with one idea."""

from pathlib import Path

LONGEST = 400


def test_no_test_file_is_long() -> None:
    files = Path(__file__).parent.rglob("*.py")
    long = [str(file) for file in files if len(file.read_text().splitlines()) > LONGEST]
    assert not long, "split these by idea"
