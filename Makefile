# Every target does its own set-up. `make` alone lists the targets.
SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:

# The first Python that is new enough; name another with `make setup PYTHON=python3.13`.
PYTHON ?= $(shell for python in python3 python3.13 python3.12 python3.11; do \
	if $$python -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then echo $$python; break; fi; done)

VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.stamp-$(subst /,_,$(PYTHON))
WORKERS ?= auto

FUZZ ?= 10000

# Files that take longest begin first; each is one worker's.
LONGEST := $(patsubst %,tests/e2e/test_%.py,slow_disk fio first_light)
TESTBED := tests/faults $(LONGEST) $(filter-out $(LONGEST),$(wildcard tests/e2e/test_*.py))

.PHONY: help setup reproduce test lint unit testbed faults fuzz mutants calibrate notebooks lab lock clean

help: ## List the targets
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "  make %-10s %s\n", $$1, $$2 }' $(firstword $(MAKEFILE_LIST))

setup: $(STAMP) ## Make .venv from requirements.lock (again only when the lock or pyproject.toml changed)

$(STAMP): requirements.lock pyproject.toml
	@if [ -z "$(PYTHON)" ] || ! $(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then \
		echo "glusterlab needs Python 3.11 or newer; '$(or $(PYTHON),python3)' is not. Name one: make setup PYTHON=python3.11" >&2; exit 1; fi
	@$(PYTHON) -c 'import ensurepip, venv' 2>/dev/null || { \
		echo "$(PYTHON) lacks venv or ensurepip. On Debian and Ubuntu: apt-get install python3-venv" >&2; exit 1; }
	@echo "Making $(VENV) with $(PYTHON) ..."
	@rm -f $(VENV)/.stamp-*
	@$(PYTHON) -m venv --clear $(VENV)
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes --requirement requirements.lock
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation --editable .
	@touch $@

reproduce: setup ## Run the notebooks, write figures/ and the report in figures/site/; only what changed
	@$(BIN)/glusterlab reproduce
	@$(BIN)/glusterlab site

test: lint unit testbed ## Check everything, as CI does

lint: setup ## ruff and mypy
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy

unit: setup ## Unit tests, doctests and the notebooks' checked cells, in parallel
	$(BIN)/pytest --numprocesses $(WORKERS) --dist loadscope -m "not testbed" --nbval --nbval-current-env --durations 15 tests glusterlab notebooks

testbed: setup ## The end-to-end and fault tests on a small real pool (need root and Linux, are skipped elsewhere)
	$(BIN)/pytest --numprocesses 4 --dist loadscope --no-loadscope-reorder -m "testbed" --durations 15 $(TESTBED)

faults: setup ## Every fault many times on real pools: the runner killed 52 times, and more (root, Linux, half an hour)
	GLUSTERLAB_FAULTS=long GLUSTERLAB_REQUIRE_TESTBED=1 $(BIN)/pytest --numprocesses 3 --dist loadscope tests/faults

fuzz: setup ## Hostile input for every reader: FUZZ=10000 cases per format, in parallel
	GLUSTERLAB_FUZZ=$(FUZZ) $(BIN)/pytest --numprocesses $(WORKERS) tests/fuzz

mutants: setup ## Take the guards of tests/mutants/guards.yaml out one at a time, and list those that no test notices
	$(BIN)/python -m tests.mutants.run

calibrate: setup ## What compare and the scaling law state, held against data of known truth; tables in build/calibration.md
	mkdir -p build
	GLUSTERLAB_CALIBRATE=long GLUSTERLAB_CALIBRATION_REPORT=build/calibration.md $(BIN)/pytest tests/analysis/compare/test_power.py tests/analysis/test_scaling.py

notebooks: setup ## Run the notebooks in place, so that they hold their outputs on the reference campaign
	@$(BIN)/python -m tests.waiting | xargs $(BIN)/jupyter nbconvert --to notebook --execute --inplace --ExecutePreprocessor.record_timing=False

lab: setup ## Open JupyterLab on notebooks/ (from here, so that they find the report)
	$(BIN)/jupyter lab --notebook-dir . --ServerApp.preferred_dir notebooks $(if $(filter 0,$(shell id -u)),--allow-root)

lock: setup ## Write requirements.lock anew from pyproject.toml; UPGRADE=1 takes the newest versions
	$(BIN)/uv pip compile pyproject.toml --extra test --universal --fork-strategy fewest --python-version 3.11 \
		--generate-hashes --no-annotate --no-emit-index-url --no-emit-find-links --custom-compile-command "make lock" \
		$(if $(UPGRADE),--upgrade) --output-file requirements.lock --quiet

clean: ## Remove .venv, caches and what reproduce can make again
	rm -rf $(VENV) build dist .mypy_cache .ruff_cache .pytest_cache .hypothesis
	find glusterlab tests -name __pycache__ -type d -prune -exec rm -rf {} +
	rm -rf figures/site figures/*/tables figures/*/notebooks figures/*/.reproduce.json figures/*/.reproduce.lock
