# Each target sets up what it needs in .venv; only Python (3.11 or newer), make and git are assumed.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
WORKERS ?= 2

.DEFAULT_GOAL := help
.PHONY: help demo docs test test-slow test-dask test-peers test-torch coverage lint format bench package test-versions lock clean

help: ## List the targets.
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed 's/:.*## /\t/' | expand -t 16

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
	  || { echo "pairdp needs Python 3.11 or newer: run make PYTHON=/path/to/python3.11"; exit 1; }
	$(PYTHON) -m venv $(VENV)

# One stamp for each set of extras, so that the demo does not wait for the linters.
$(VENV)/.pairdp: pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable .
	@touch $@

$(VENV)/.pairdp-test: pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[test]'
	@touch $@ $(VENV)/.pairdp

$(VENV)/.pairdp-dask: pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[test,dask]'
	@touch $@ $(VENV)/.pairdp-test $(VENV)/.pairdp

# One version of torch, for it decides how gradients of a module are computed.
$(VENV)/.pairdp-torch: pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check torch==2.13.0
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[test,torch]'
	@touch $@ $(VENV)/.pairdp-test $(VENV)/.pairdp

# The version whose results the documentation has.
$(VENV)/.pairdp-peers: $(VENV)/.pairdp-test
	$(BIN)/python -m pip install --quiet --disable-pip-version-check interpret-core==0.7.8
	@touch $@

$(VENV)/.pairdp-lint: pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[lint]'
	@touch $@ $(VENV)/.pairdp

$(VENV)/.pairdp-docs: pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[docs,dask]'
	@touch $@ $(VENV)/.pairdp

$(VENV)/.pairdp-package: pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[package]'
	@touch $@ $(VENV)/.pairdp

demo: $(VENV)/.pairdp ## Compare private models of a synthetic table, and write the report of one.
	$(BIN)/python -m pairdp.demo

test: $(VENV)/.pairdp-test ## Run the tests, but for the slow ones.
	$(BIN)/python -m pytest -n $(WORKERS) --dist worksteal -q -m 'not slow'

test-slow: $(VENV)/.pairdp-test ## Run the slow tests.
	$(BIN)/python -m pytest -n $(WORKERS) --dist worksteal -q -m slow --ignore tests/dask

test-dask: $(VENV)/.pairdp-dask ## Run the tests on a Dask cluster of two worker processes.
	$(BIN)/python -m pytest -q tests/dask

test-peers: $(VENV)/.pairdp-peers ## Run the tests of benchmarks, with the methods of other libraries.
	$(BIN)/python -m pytest -q tests/benchmarks

test-torch: $(VENV)/.pairdp-torch ## Run the tests of networks that are torch modules.
	$(BIN)/python -m pytest -q tests/neural_torch

# The core: everything that guarantees rest on.
CORE := privacy losses constraints pairs score_sums algorithms engines \
  records partitioned_records clipping label_coding problem pointwise_problem design_problem
CORE_TESTS := tests/privacy tests/losses tests/constraints tests/pairs tests/score_sums tests/engines \
  tests/algorithms tests/online tests/attacks tests/testing tests/test_*.py

# A test that hangs under the tracer prints where all of its threads are.
coverage: $(VENV)/.pairdp-test ## Measure the branch coverage of the core, and print it by package.
	$(BIN)/python -m pytest -n $(WORKERS) --dist worksteal -q -m 'not slow' -o faulthandler_timeout=600 \
	  --cov-branch $(CORE:%=--cov=pairdp.%) --cov-report=json:.coverage.json --cov-report= $(CORE_TESTS)
	$(BIN)/python -m tests.coverage_table .coverage.json

lint: $(VENV)/.pairdp-lint ## Check style, format and types.
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

format: $(VENV)/.pairdp-lint ## Format the code.
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

# Warnings are errors. The network is not needed.
docs: $(VENV)/.pairdp-docs ## Build the documentation site into docs/_build/html.
	$(BIN)/python -m sphinx -W --keep-going -n -q -d docs/_build/doctrees docs docs/_build/html
	@echo "Open docs/_build/html/index.html"

bench: $(VENV)/.pairdp-peers ## Run the benchmarks; each prints ratios measured side by side.
	$(BIN)/python -m benchmarks

package: $(VENV)/.pairdp-package ## Build the wheel and the sdist, and check them.
	rm -rf dist
	$(BIN)/python -m build --outdir dist .
	$(BIN)/python -m twine check --strict dist/*
	$(BIN)/python -m tools.distribution dist

# Downloads several hundred MB for each Python.
PYTHONS ?= python3.11 python3.12 python3.13
test-versions: package ## Try the wheel with the lowest and the newest dependencies, on each of PYTHONS.
	$(BIN)/python -m tools.versions dist/*.whl --pythons $(PYTHONS)

lock: $(VENV)/.pairdp-package ## Write requirements-dev.lock anew, with the newest versions.
	$(BIN)/python -m piptools compile --quiet --upgrade --strip-extras --no-header --no-annotate \
	  --no-emit-index-url --no-emit-find-links --no-emit-trusted-host --no-emit-options \
	  --extra test --extra dask --extra docs --extra lint --extra package --output-file requirements-dev.lock pyproject.toml

clean: ## Remove everything that the targets made.
	rm -rf $(VENV) build dist pairdp-demo docs/_build docs/_backreferences docs/gallery docs/reference docs/source docs/tutorials .coverage* .hypothesis .mypy_cache .pytest_cache .ruff_cache
