# Everything runs from a virtual environment that is made on first use.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed

# The demo has an environment of its own, without the developers' tools.
DEMO := .venv-demo
CHECK := $(PYTHON) -c 'import sys; sys.exit("fairshapley needs Python 3.11 or newer: make PYTHON=python3.11" if sys.version_info < (3, 11) else 0)'
PIP := -m pip install --quiet --disable-pip-version-check --constraint constraints.txt --editable

.PHONY: demo test test-full test-portable lint types bench docs clean

$(STAMP): pyproject.toml constraints.txt
	$(CHECK)
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python $(PIP) '.[dev]'
	touch $@

$(DEMO)/.installed: pyproject.toml constraints.txt
	$(CHECK)
	$(PYTHON) -m venv $(DEMO)
	$(DEMO)/bin/python $(PIP) '.[demo]'
	touch $@

demo: $(DEMO)/.installed
	$(DEMO)/bin/fairshapley demo

test: lint types
	$(BIN)/python -m pytest -n 2 -m 'not full'

# Everything at length: hundreds of repeats of the statistical laws, a failure at every point of a
# run, all of scikit-learn's answers. One part: make test-full PART=laws
PARTS := laws settings certificates budgets faults rest
FULL_laws := tests/laws/test_laws.py::test_laws_at_length
FULL_certificates := tests/laws/test_certificates.py
FULL_budgets := tests/laws/test_more_evaluations.py
FULL_settings := tests/laws --deselect=$(FULL_laws) --ignore=$(FULL_certificates) --ignore=$(FULL_budgets)
FULL_faults := tests/faults tests/golden
FULL_rest := tests --ignore=tests/laws --ignore=tests/faults --ignore=tests/golden

test-full: $(if $(PART),test-full-$(PART),test $(PARTS:%=test-full-%))

test-full-%: $(STAMP)
	$(BIN)/python -m pytest -n 2 -m full $(or $(FULL_$*),$(error PART is one of $(PARTS)))

# As on a processor without the newer vector instructions: other roundings, the same results.
test-portable: $(STAMP)
	$(BIN)/python tests/portable.py -n 2 -m 'not full'

lint: $(STAMP)
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/lint-imports --no-logo --no-cache
	$(BIN)/python -m tests.house.lines

types: $(STAMP)
	$(BIN)/mypy

bench: $(STAMP)
	$(BIN)/python -m benchmarks

# The documentation as a site that needs no network: site/index.html.
docs: $(STAMP)
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet
	@echo the documentation is in site/index.html

clean:
	rm -rf $(VENV) $(DEMO) fairshapley-demo site .mypy_cache .ruff_cache .pytest_cache .hypothesis
