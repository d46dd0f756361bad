"""The result of a comparison: as a table, as a figure, and as files."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from pairdp._files import write_atomically
from pairdp.drawing import (
    Axis,
    Figure,
    Point,
    Series,
    Style,
    assign_styles,
    write_group,
    write_page,
    write_svg,
)
from pairdp.drawing.text import escape

MAIN = "auto"


@dataclass(frozen=True)
class Score:
    """The scores of one algorithm at one ε.

    Attributes
    ----------
    algorithm : str
        Its name, or that of a baseline.
    epsilon : float or None
        None for a baseline, which is not private.
    values : tuple of float
        One score for each repeat; empty if the algorithm was refused.
    refused : str
        Why there are no scores.
    """

    algorithm: str
    epsilon: float | None
    values: tuple[float, ...]
    refused: str = ""

    @property
    def mean(self) -> float:
        """The mean over the repeats; NaN without scores."""
        return float(np.mean(self.values)) if self.values else math.nan

    @property
    def standard_error(self) -> float:
        """The standard error of the mean; NaN without scores."""
        if not self.values:
            return math.nan
        return float(np.std(self.values, ddof=1)) / math.sqrt(len(self.values))

    def __str__(self) -> str:
        return f"{self.mean:.3f} ± {self.standard_error:.3f}" if self.values else "refused"


@dataclass(frozen=True)
class Comparison:
    """Scores of algorithms over ε; printable.

    Attributes
    ----------
    scores : tuple of Score
        By algorithm and then by ε; baselines come last.
    measure : str
        What is measured on records that were not fitted to.
    records : str
        What the records are.
    delta : float
        δ of all budgets.
    repeats, seed : int
        The number of repeats, and the seed of records and noise.
    """

    scores: tuple[Score, ...]
    measure: str
    records: str
    delta: float
    repeats: int
    seed: int

    @property
    def algorithms(self) -> tuple[str, ...]:
        """The private algorithms, in order."""
        return tuple(dict.fromkeys(s.algorithm for s in self.scores if s.epsilon is not None))

    @property
    def epsilons(self) -> tuple[float, ...]:
        """The values of ε, in increasing order."""
        return tuple(sorted({s.epsilon for s in self.scores if s.epsilon is not None}))

    @property
    def baselines(self) -> tuple[Score, ...]:
        """The scores without privacy."""
        return tuple(score for score in self.scores if score.epsilon is None)

    def score(self, algorithm: str, epsilon: float | None) -> Score:
        """Return one score."""
        for score in self.scores:
            if (score.algorithm, score.epsilon) == (algorithm, epsilon):
                return score
        raise KeyError(f"there is no score of {algorithm!r} at ε = {epsilon!r}")

    def to_dict(self) -> dict[str, Any]:
        """Return everything as JSON values, with null for scores that there are not."""
        more = [
            {
                **asdict(score),
                "mean": score.mean if score.values else None,
                "standard_error": score.standard_error if score.values else None,
            }
            for score in self.scores
        ]
        return {**asdict(self), "scores": more}

    def to_frame(self) -> Any:
        """Return a pandas DataFrame with one row for each algorithm and ε."""
        try:
            import pandas as pd  # type: ignore[import-untyped]
        except ImportError:
            raise ImportError(
                "to_frame returns a pandas DataFrame: install pandas, or use to_dict"
            ) from None
        columns = ("algorithm", "epsilon", "mean", "standard_error", "refused")
        rows = [[getattr(score, name) for name in columns] for score in self.scores]
        return pd.DataFrame(rows, columns=list(columns))

    @property
    def caption(self) -> str:
        """What was measured, on what."""
        return (
            f"{self.measure} on other records, mean ± standard error over {self.repeats} repeats; "
            f"{self.records}; δ = {self.delta:g}; seed {self.seed}"
        )

    def __str__(self) -> str:
        head = ["", *(f"ε = {epsilon:g}" for epsilon in self.epsilons)]
        rows = [
            [name, *(str(self.score(name, epsilon)) for epsilon in self.epsilons)]
            for name in self.algorithms
        ]
        rows += [[f"{each.algorithm} (not private)", str(each)] for each in self.baselines]
        widths = [
            max(len(row[place]) for row in [head, *rows] if len(row) > place)
            for place in range(len(head))
        ]
        lines = [
            "  ".join(f"{cell:{width}s}" for cell, width in zip(row, widths, strict=False)).rstrip()
            for row in [head, *rows]
        ]
        return "\n".join([self.caption, *(f"  {line}" for line in lines), *self.refusals])

    @property
    def refusals(self) -> tuple[str, ...]:
        """Why algorithms were refused, one sentence for each reason."""
        refused = [score for score in self.scores if score.refused]
        sentences = (f"{score.algorithm} was refused: {score.refused}" for score in refused)
        return tuple(dict.fromkeys(sentences))

    def figure(self) -> Figure:
        """Return the scores over ε, with intervals of two standard errors.

        Raises
        ------
        ValueError
            If no algorithm has a score.
        """
        names = [name for name in self.algorithms if any(self._points(name))]
        if not names:
            raise ValueError("there is nothing to draw: every algorithm was refused")
        styles = assign_styles([names], main=MAIN)
        series = [Series(name, tuple(self._points(name)), styles[name]) for name in names]
        first = self.epsilons[0]
        for marker, score in enumerate(each for each in self.baselines if each.values):
            line = Style(7, None if marker == 0 else marker, "thin")
            series.append(
                Series(
                    f"{score.algorithm} (not private)", (_point(first, score),), line, across=True
                )
            )
        return Figure(
            f"{self.measure} over ε",
            Axis("ε (smaller is more private)", "ε", scale="log"),
            Axis(f"{self.measure} on other records", scale="linear"),
            tuple(series),
            description=self.caption,
            intervals="two standard errors of the mean",
        )

    def _points(self, name: str) -> list[Point]:
        scores = (self.score(name, epsilon) for epsilon in self.epsilons)
        return [_point(score.epsilon or 0.0, score) for score in scores if score.values]

    def to_html(self) -> str:
        """Return a page that loads nothing from elsewhere: the figure, and a table of values."""
        figure = self.figure()
        notes = "".join(f"<p>{escape(sentence)}</p>" for sentence in self.refusals)
        body = write_group(self.measure, [figure], value="mean") + notes
        header = f"<p>{escape(self.caption)}</p>"
        title = "Comparison of private algorithms"
        wide = ".plots{grid-template-columns:minmax(0,46rem)}"  # there is only one
        return write_page(title, body, [figure], header=header, css=wide)

    def save(self, path: str | Path) -> None:
        """Write a page (.html) or a figure (.svg), atomically."""
        path = Path(path)
        if path.suffix not in (".html", ".svg"):
            raise ValueError(f"a comparison is saved as .html or .svg, got {path.name!r}")
        svg = path.suffix == ".svg"
        content = write_svg(self.figure(), self.caption) if svg else self.to_html()
        write_atomically(path, content.encode())


def _point(epsilon: float, score: Score) -> Point:
    half = 2 * score.standard_error
    return Point(epsilon, score.mean, (score.mean - half, score.mean + half))
