"""What a fitted model shows of itself: a table of weights, and HTML for notebooks."""

from __future__ import annotations

import builtins
import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn import config_context
from sklearn.base import BaseEstimator
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import make_pipeline

from pairdp import (
    BoundsScaler,
    OnlinePrivateRanker,
    PrivateLinearClassifier,
    PrivateLinearRegressor,
    PrivateMetric,
    PrivateRanker,
    load,
)
from pairdp.privacy import CertificateError
from pairdp.report.card import card_of
from pairdp.report.card_html import card_html

HOSTILE = '<script>alert("1")</script>&\' onload=x'
pytestmark = pytest.mark.filterwarnings("ignore::pairdp.NoSignalWarning")


def table(*names: str, n: int = 400) -> tuple[pd.DataFrame, Any]:
    rng = np.random.default_rng(0)
    y = np.arange(n) % 2
    X = rng.normal(size=(n, len(names))) / 4 + y[:, None] * np.linspace(0.6, 0, len(names))
    return pd.DataFrame(X, columns=list(names)), y


def fitted(kind: Any = PrivateRanker, *names: str, **more: Any) -> Any:
    X, y = table(*(names or ("age", "bmi", "crp")))
    if kind is PrivateRanker:
        more = {"model": "linear", **more}
    return kind(2.0, 1e-6, data_norm=1.0, random_state=0, **more).fit(X, y)


class Elements(HTMLParser):
    """The tags and the text of a page."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.text = ""
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        self.tags.append(tag)

    def handle_data(self, data: str) -> None:
        self.text += data + " "


def card_of_page(model: Any) -> str:
    page: str = model._repr_html_()
    return page[: page.index("</div>")]


# Tables of weights


@pytest.mark.parametrize("kind", [PrivateRanker, PrivateLinearClassifier, PrivateLinearRegressor])
def test_linear_models_have_a_weight_for_each_column(kind: Any) -> None:
    model = fitted(kind)
    frame = model.weights_frame()
    assert frame.index.tolist() == ["age", "bmi", "crp"]
    assert frame.columns.tolist() == ["weight", "noise_std"]
    np.testing.assert_array_equal(frame["weight"], np.ravel(model.coef_))
    assert (frame["noise_std"] > 0).all()
    assert frame.attrs["noise"] == model.parameter_noise_.words


def test_a_metric_has_its_diagonal_and_axes() -> None:
    model = fitted(PrivateMetric, algorithm="scatter")
    frame = model.weights_frame()
    np.testing.assert_allclose(frame["weight"], np.diag(model.get_mahalanobis_matrix()))
    assert model.n_directions_ == 1
    assert np.linalg.norm(frame["axis_1"]) == pytest.approx(1)
    assert abs(frame["axis_1"]).idxmax() == "age"
    assert frame["noise_std"].isna().all()
    output = fitted(PrivateMetric, algorithm="DPGDSC")
    assert (output.weights_frame()["noise_std"] > 0).all()


def test_models_of_streams_and_of_arrays_have_tables_too() -> None:
    X, y = table("age", "bmi", n=60)
    stream = OnlinePrivateRanker(2.0, 1e-6, horizon=60, data_norm=1.0, random_state=0)
    frame = stream.partial_fit(X, y, classes=[0, 1]).weights_frame()
    assert frame.index.tolist() == ["age", "bmi"]
    assert frame["noise_std"].isna().all()
    model = PrivateRanker(2.0, model="linear", data_norm=1.0, random_state=0)
    model.fit(X.to_numpy(), y)
    assert model.weights_frame().index.tolist() == ["x0", "x1"]


def test_a_pipeline_names_columns_and_their_bounds() -> None:
    X, y = table("age", "bmi")
    ranker = PrivateRanker(2.0, model="linear", data_norm=1.0, random_state=0)
    model = make_pipeline(BoundsScaler(-2, 2), ranker)
    card = card_of(model.fit(X, y))
    assert [weight.name for weight in card.weights] == ["age", "bmi"]
    assert [column[:2] for column in card.columns] == [("age", "-2 to 2"), ("bmi", "-2 to 2")]
    assert card.ranked == ("0", "1")


def test_the_noise_is_stored_with_the_model(tmp_path: Path) -> None:
    for kind in (PrivateRanker, PrivateMetric, PrivateLinearClassifier):
        model = fitted(kind)
        model.save(tmp_path / "model.pairdp")
        pd.testing.assert_frame_equal(
            load(tmp_path / "model.pairdp").weights_frame(), model.weights_frame()
        )


def test_an_intercept_has_the_noise_of_its_constant_feature() -> None:
    X, y = table("age", "bmi")
    model = PrivateLinearClassifier(2.0, data_norm=3.0, random_state=0, algorithm="minimizer")
    card = card_of(model.fit(X, y))
    assert card.intercept is not None
    assert card.intercept.noise == pytest.approx(3 * card.weights[0].noise)  # type: ignore[operator]


def test_without_pandas_the_error_says_what_to_use(monkeypatch: pytest.MonkeyPatch) -> None:
    model, real = fitted(), builtins.__import__

    def no_pandas(name: str, *args: Any, **more: Any) -> Any:
        if name == "pandas":
            raise ImportError(name)
        return real(name, *args, **more)

    monkeypatch.setattr(builtins, "__import__", no_pandas)
    with pytest.raises(ImportError, match="install pandas, or use coef_"):
        model.weights_frame()


def test_what_is_not_a_fitted_private_model_is_refused() -> None:
    with pytest.raises(NotFittedError):
        PrivateRanker().weights_frame()
    with pytest.raises(TypeError, match="not a private estimator"):
        card_of(BoundsScaler())


def test_a_model_of_another_kind_has_a_card_without_weights() -> None:
    class Own(BaseEstimator):  # type: ignore[misc]
        def fit(self) -> None:
            raise NotImplementedError

        def privacy_statement(self) -> str:
            return ""

    own = Own()
    own.certificate_ = fitted().certificate_
    card = card_of(own)
    assert (card.purpose, card.weights, card.ranked) == ("a private model", (), None)
    assert "a private model" in card_html(card)


# HTML


@pytest.mark.parametrize("kind", [PrivateRanker, PrivateMetric, PrivateLinearClassifier])
def test_a_fitted_model_shows_budget_verification_and_weights(kind: Any) -> None:
    shown = Elements(card_of_page(fitted(kind, data_set="study 7"))).text
    for words in (kind.__name__, "ε = 2, δ = 1e-06", "each record", "holds", "n = 400", "study 7"):
        assert words in shown
    assert all(name in shown for name in ("age", "bmi", "crp"))
    assert "noise is not secret" in shown  # it was fitted with a seed


def test_secret_noise_and_no_noise_are_shown_as_such() -> None:
    X, y = table("age", "bmi")
    secret = PrivateRanker(2.0, data_norm=1.0).fit(X, y)
    assert "planned again, with the same numbers" in card_of_page(secret)
    assert "not secret" not in card_of_page(secret)
    free = PrivateRanker(None, data_norm=1.0).fit(X, y)
    assert "fitted without noise, and not private" in card_of_page(free)
    assert "no claim" in card_of_page(free)


def test_a_forged_certificate_is_refused_in_the_page(monkeypatch: pytest.MonkeyPatch) -> None:
    from pairdp.report import card

    def refuse(certificate: Any) -> None:
        raise CertificateError("it does not hold <i>")

    monkeypatch.setattr(card, "verify", refuse)
    card.verified.cache_clear()
    assert "it does not hold &lt;i&gt;" in card_of_page(fitted())
    card.verified.cache_clear()


def test_unfitted_models_and_text_display_are_those_of_scikit_learn() -> None:
    plain = re.sub(r"sk-[\w-]+\d", "", BaseEstimator._repr_html_inner(PrivateRanker()))
    assert re.sub(r"sk-[\w-]+\d", "", PrivateRanker()._repr_html_()) == plain
    model = fitted()
    bundle = model._repr_mimebundle_()
    assert "pairdp-card" in bundle["text/html"]
    assert "sk-top-container" in bundle["text/html"]
    with config_context(display="text"):
        assert "text/html" not in model._repr_mimebundle_()
        assert not hasattr(model, "_repr_html_")


def test_hostile_names_are_text() -> None:
    X, y = table(HOSTILE, "b", n=100)
    labels = np.where(y, HOSTILE, "<a>")
    model = PrivateRanker(2.0, data_norm=1.0, data_set=HOSTILE, random_state=0).fit(X, labels)
    page = card_of_page(model)
    found = Elements(page)
    assert "script" not in found.tags
    assert "a" not in found.tags
    assert HOSTILE in found.text
    assert not re.search(r"<[^>]*onload", page)


def test_the_page_loads_nothing_and_has_both_themes() -> None:
    page = card_of_page(fitted())
    assert not re.search(r"https?://|url\(|@import|<script|<link|<img", page)
    assert "prefers-color-scheme:dark" in page
    assert '[data-jp-theme-light="false"] .pairdp-card' in page


def test_many_features_are_folded_away() -> None:
    names = [f"f{i}" for i in range(30)]
    page = card_of_page(fitted(PrivateRanker, *names))
    assert "10 more features" in page
    assert all(f">{name}<" in page for name in names)
