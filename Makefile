# Needs Python 3.11 or newer, git and make; everything else goes into .venv.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check install --quiet --constraint constraints.txt
PYTEST_ARGS ?=

.PHONY: help demo test check format docs bench bench-grading bench-peers soak faults clean

help:
	@echo "make demo    the leaderboard of four real models, offline"
	@echo "make test    every test"
	@echo "make check   format, lint, types, layers, SQL, docs in step"
	@echo "make format  rewrite Python and SQL in the project's format"
	@echo "make docs    write the generated pages again"
	@echo "make bench   speed beside the floors, on this machine"
	@echo "make bench-grading  grading of a million stored answers beside DuckDB alone"
	@echo "make bench-peers  the same work by other tools, which it installs below .bench/"
	@echo "make faults  kills, full disks, flipped bits and a storm of processes, into docs/warehouse.md"
	@echo "make soak    50,000 calls through faults, kills and a full disk"

demo: $(VENV)/.installed
	@$(BIN)/gradetrail demo

test: $(VENV)/.installed-dev
	$(BIN)/python -m pytest $(PYTEST_ARGS)

check: $(VENV)/.installed-dev
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-logo
	$(BIN)/sqlfluff lint sql
	$(BIN)/python .ci/docs.py --check
	$(BIN)/python .ci/readme.py --check

format: $(VENV)/.installed-dev
	$(BIN)/ruff check --fix-only .
	$(BIN)/ruff format .
	$(BIN)/sqlfluff fix sql

docs: $(VENV)/.installed-dev
	$(BIN)/python .ci/docs.py
	$(BIN)/python .ci/readme.py
	$(BIN)/python .ci/notebooks.py

bench: $(VENV)/.installed-dev
	$(BIN)/python bench/run.py

bench-grading: $(VENV)/.installed-dev
	$(BIN)/python bench/grading.py

bench-peers: $(VENV)/.installed-dev
	$(BIN)/python bench/peers/compare.py

soak: $(VENV)/.installed-dev
	$(BIN)/python bench/soak.py

faults: $(VENV)/.installed-dev
	$(BIN)/python bench/faults.py $(if $(MINUTES),--minutes $(MINUTES))

clean:
	rm -rf $(VENV) .bench build dist .mypy_cache .pytest_cache .ruff_cache .import_linter_cache

$(VENV)/.made:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
		|| { echo "gradetrail needs Python 3.11 or newer: make PYTHON=python3.12 ..." >&2; exit 2; }
	@$(PYTHON) -m venv --clear $(VENV) \
		|| { echo "Python's venv module is missing: on Debian, apt-get install python3-venv" >&2; exit 2; }
	@touch $@

# an editable install: sql/ and specs/ are read in place, so only a change of dependencies installs again
$(VENV)/.installed: pyproject.toml constraints.txt $(VENV)/.made
	@echo "installing gradetrail into $(VENV)" >&2
	@$(PIP) --editable .
	@touch $@

$(VENV)/.installed-dev: pyproject.toml constraints.txt $(VENV)/.made
	@echo "installing gradetrail with what its tests need into $(VENV)" >&2
	@$(PIP) --editable '.[dev,math,text,ray,plot,s3]'
	@touch $@ $(VENV)/.installed
