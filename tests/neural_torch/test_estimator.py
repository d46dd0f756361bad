"""PrivateNeuralRanker with modules: what it learns, files, verification, tables and units."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

from pairdp import (
    Budget,
    BudgetExceededError,
    BudgetLedger,
    ModelFileError,
    PrivateNeuralRanker,
    PrivateSearch,
    TorchModule,
    evaluate,
    load,
    verify,
)
from pairdp.verification import verify_file
from tests.estimators.data import FEW_RECORDS, two_classes
from tests.estimators.test_neural import products
from tests.neural_torch import modules

pytestmark = pytest.mark.filterwarnings(FEW_RECORDS)
PATH = "tests.neural_torch.modules:Net"
PUBLIC = {"data_norm": 1.0, "random_state": 0}


@pytest.mark.parametrize("batch_size", [None, 1024])
def test_it_learns_what_no_linear_model_can(batch_size: int | None) -> None:
    x, y = products(6000)
    module = TorchModule(modules.Net, {"width": 24})
    model = PrivateNeuralRanker(8.0, module=module, n_steps=60, batch_size=batch_size, **PUBLIC)
    assert model.fit(x[:4000], y[:4000]).score(x[4000:], y[4000:]) > 0.72


@pytest.fixture(scope="module")
def fitted() -> PrivateNeuralRanker:
    module = TorchModule(modules.Net, {"width": 3})
    return PrivateNeuralRanker(4.0, module=module, n_steps=5, **PUBLIC).fit(*two_classes(300))


def test_a_search_fits_every_module_that_is_given_as_an_object() -> None:
    """Certificates do not describe objects, so that those of two modules can be equal."""
    one, other = modules.Line(3), modules.Line(3)
    for module, sign in ((one, 1.0), (other, -1.0)):
        for weights in module.parameters():
            weights.data.fill_(sign)
    model = PrivateNeuralRanker(2.0, 1e-6, data_norm=1.0, n_steps=3)
    search = PrivateSearch(model, [{"module": one}, {"module": other}])
    planned = search.plan(2000, 3).candidates
    assert planned[0].plan.certificate == planned[1].plan.certificate
    assert [each.group for each in planned] == [0, 1]


def test_files_need_the_class_as_trusted(fitted: PrivateNeuralRanker, tmp_path: Path) -> None:
    path = tmp_path / "model.pairdp"
    fitted.save(path)
    with pytest.raises(ModelFileError, match=f"it uses {PATH}, which is not part of pairdp"):
        load(path)
    x, _ = two_classes(50, seed=1)
    for trusted in (PATH, modules.Net):
        loaded = load(path, trusted=[trusted])
        assert np.array_equal(loaded.decision_function(x), fitted.decision_function(x))
    assert loaded.certificate_ == fitted.certificate_
    assert loaded.module.arguments == {"width": 3}
    assert all(found.holds for found in verify_file(path, trusted=[PATH]))
    assert "taken on trust" in loaded.privacy_statement()


def test_fixed_numbers_are_stored(tmp_path: Path) -> None:
    model = PrivateNeuralRanker(4.0, module=modules.Frozen, n_steps=2, **PUBLIC)
    model.fit(*two_classes(100)).save(tmp_path / "model.pairdp")
    loaded = load(tmp_path / "model.pairdp", trusted=[modules.Frozen])
    assert np.array_equal(loaded.fixed_, model.fixed_)
    assert loaded.fixed_[-1] == 3


def test_verify_plans_again_and_an_object_cannot_be_stored(
    fitted: PrivateNeuralRanker, tmp_path: Path
) -> None:
    assert verify(fitted.certificate_, trusted=[modules.Net]).holds
    assert not verify(fitted.certificate_).holds  # the class is not trusted
    x, y = two_classes(100)
    torch_object = modules.Net(x.shape[1])
    model = PrivateNeuralRanker(4.0, module=torch_object, n_steps=2, **PUBLIC).fit(x, y)
    assert "NOT PLANNED AGAIN" in str(verify(model.certificate_))
    with pytest.raises(ModelFileError, match="a Net cannot be stored"):
        model.save(tmp_path / "model.pairdp")


def test_the_contract_of_scikit_learn_ledger_and_evaluation(fitted: PrivateNeuralRanker) -> None:
    x, y = two_classes(300)
    ledger = BudgetLedger(Budget(10.0, 1e-4))
    assert np.array_equal(clone(fitted).fit(x, y).parameters_, fitted.parameters_)
    paid = clone(fitted).set_params(ledger=ledger, random_state=None).fit(x, y)
    with pytest.raises(BudgetExceededError):
        paid.set_params(epsilon=30.0).fit(x, y)
    found = evaluate(fitted, *two_classes(2000, seed=2), 2.0, random_state=0)
    assert found.auc_interval.lower < found.auc_interval.upper
    built_in = clone(fitted).set_params(module=None, hidden=(3,)).fit(x, y)
    assert not hasattr(built_in, "fixed_")


def test_tables_units_and_null_records() -> None:
    rng = np.random.default_rng(0)
    n = 200
    table = pd.DataFrame(
        {
            "age": rng.integers(18, 90, n).astype(float),
            "patient": rng.integers(0, 90, n),
            "died": rng.choice(["no", "yes"], n),
        }
    )
    table.loc[3, "age"] = np.nan
    schema = {"age": [0, 120], "patient": "id", "died": {"label": ["no", "yes"]}}
    model = PrivateNeuralRanker(
        4.0, module=modules.Net, n_steps=4, schema=schema, unit="patient", max_records=2,
        invalid="null", random_state=0,
    )  # fmt: skip
    assert np.isfinite(model.fit(table).decision_function(table)).sum() >= n - 1
    assert verify(model.certificate_, trusted=[modules.Net]).holds
    with pytest.raises(ValueError, match="does not offer units"):
        clone(model).set_params(batch_size=20).fit(table)
