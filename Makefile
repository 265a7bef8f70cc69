# Every target sets up .venv by itself; nothing but Python 3.11+, git and make is assumed.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
CORE := $(VENV)/.core
STAMP := $(VENV)/.installed
# Also binds pip's isolated build environments, so nothing can pull another torch.
export PIP_CONSTRAINT := $(CURDIR)/constraints.txt
export PIP_DISABLE_PIP_VERSION_CHECK := 1

.PHONY: help install check test docs demo bench clean

help:
	@echo "make demo   set up .venv and learn the Sachs network that ships with the package"
	@echo "make test   set up .venv and run the tests"
	@echo "make check  ruff, mypy and the import-direction test"
	@echo "make docs   build the documentation into site/"
	@echo "make bench  measure speed beside other learners, and check what the README says of it (30 minutes)"

install: $(STAMP)

$(CORE): pyproject.toml constraints.txt
	@echo "setting up $(VENV); this takes a minute or two"
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --editable .
	touch $(CORE)

$(STAMP): $(CORE)
	@echo "adding what tests and docs need; this takes a few minutes"
	$(BIN)/python -m pip install --quiet --editable ".[dev]"
	touch $(STAMP)

check: $(STAMP)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/python -m pytest -q tests/test_architecture.py

test: $(STAMP)
	$(BIN)/python -m pytest -q -n 2 --dist loadscope

docs: $(STAMP)
	$(BIN)/mkdocs build --strict

demo: $(CORE)
	$(BIN)/daguerreotype fit

bench: $(STAMP)
	$(BIN)/python benchmarks/bench.py $(BENCH)

clean:
	rm -rf $(VENV) build dist .mypy_cache .ruff_cache .pytest_cache .hypothesis
