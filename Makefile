# Every target sets up .venv by itself; nothing but Python 3.11+, git and make is assumed.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
CORE := $(VENV)/.core
STAMP := $(VENV)/.installed
# Also binds pip's isolated build environments, so nothing can pull another torch.
export PIP_CONSTRAINT := $(CURDIR)/constraints.txt
export PIP_DISABLE_PIP_VERSION_CHECK := 1

MINUTES ?= 10
# make install LOCKED=1: exactly the versions of requirements-dev.lock, each file checked by its hash.
LOCKED ?=
MINIMUM := build/minimum
MINIMUM_TESTS := tests/operators tests/graphs/test_dag.py tests/graphs/test_cpdag.py tests/noise tests/persistence \
	tests/learner/test_learner.py tests/learner/test_kinds.py tests/data/test_readers.py tests/cli/test_fit.py \
	tests/cli/test_evaluate.py tests/bootstrap tests/plotting

NEXT ?= python3.13
NEXT_VENV := build/next
NEXT_TESTS := tests/_lib/test_archive.py tests/_lib/test_store.py tests/graphs tests/noise tests/data/test_readers.py \
	tests/data/test_kinds.py tests/persistence tests/test_extending.py
SEED ?= $(shell date +%s)

.PHONY: help install check test test-again test-next test-minimum docs demo bench fuzz lock dist-check clean

help:
	@echo "make demo   set up .venv and learn the Sachs network that ships with the package"
	@echo "make test   set up .venv and run the tests"
	@echo "make check  ruff, mypy and the import-direction test"
	@echo "make docs   build the documentation into site/"
	@echo "make fuzz   try random tables, inputs and kills for MINUTES=10"
	@echo "make test-next  a quick part of the tests on NEXT=python3.13; make test-again  a random part a second time"
	@echo "make test-minimum  the lowest versions of all dependencies; make dist-check  the sdist and the wheel"
	@echo "make lock   write requirements-dev.lock anew; LOCKED=1 installs from it"
	@echo "make bench  measure speed beside other learners, and check what the README says of it (30 minutes)"

install: $(STAMP)

$(CORE): pyproject.toml constraints.txt
	@echo "setting up $(VENV); this takes a minute or two"
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet $(if $(LOCKED),--require-hashes --no-deps -r requirements-dev.lock,--editable .)
	$(if $(LOCKED),$(BIN)/python -m pip install --quiet --no-deps --editable .)
	touch $(CORE)

$(STAMP): $(CORE)
	@echo "adding what tests and docs need; this takes a few minutes"
	$(BIN)/python -m pip install --quiet $(if $(LOCKED),torch,--editable ".[dev]")
	touch $(STAMP)

check: $(STAMP)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/python -m pytest -q tests/test_architecture.py

test: $(STAMP)
	$(BIN)/python -m pytest -q -n 2 --dist loadscope

# A random part a second time: nothing may hang on what the first run left, or on the order.
test-again: $(STAMP)
	$(BIN)/python -m pytest -q -n 2 -m "not slow" --again $(SEED)

# A quick part with the newest of all light dependencies, on the newest Python.
test-next:
	test -x $(NEXT_VENV)/bin/python || $(NEXT) -m venv $(NEXT_VENV)
	$(NEXT_VENV)/bin/python -m pip install --quiet --upgrade --editable . pytest pytest-xdist hypothesis polars
	$(NEXT_VENV)/bin/python -m pytest -q -n 2 -p no:cacheprovider $(NEXT_TESTS)

docs: $(STAMP)
	$(BIN)/mkdocs build --strict

demo: $(CORE)
	$(BIN)/daguerreotype fit

fuzz: $(STAMP)
	$(BIN)/python -m fuzz --minutes $(MINUTES) $(FUZZ)

# A part of the tests that takes few minutes and uses every dependency but torch and the baselines.
test-minimum: export PIP_CONSTRAINT := $(CURDIR)/constraints-minimum.txt
test-minimum:
	test -x $(MINIMUM)/bin/python || $(PYTHON) -m venv $(MINIMUM)
	$(MINIMUM)/bin/python -m pip install --quiet ".[plot,tune,parquet,distributed]" pytest hypothesis
	$(MINIMUM)/bin/python -m pytest -q -p no:cacheprovider $(MINIMUM_TESTS)

dist-check:
	.ci/dist-check $(PYTHON)

lock:
	.ci/lock $(PYTHON)

bench: $(STAMP)
	$(BIN)/python benchmarks/bench.py $(BENCH)

clean:
	rm -rf $(VENV) build dist .mypy_cache .ruff_cache .pytest_cache .hypothesis
