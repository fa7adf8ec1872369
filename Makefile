# Two commands do everything: "make demo" and "make test". Both make their own environment in .venv.

PYTHON ?= python3
JOBS   ?= 2

VENV := .venv
RUN  := $(VENV)/bin/python
# Written once the environment is complete; made again when pyproject.toml changes.
READY := $(VENV)/.ready

export PIP_DISABLE_PIP_VERSION_CHECK := 1
export PIP_NO_INPUT := 1
# The plot goes to a file: no display is needed.
export MPLBACKEND := Agg

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.NOTPARALLEL:
.PHONY: help demo test lint tests pure format guard docs experiments clean

help:
	@echo "make demo    train on the bundled mail corpus, compare with scikit-learn, write demo.png"
	@echo "make test    linters, types, layers, all tests"
	@echo "make lint    linters, types and layers only"
	@echo "make format  put the source in the standard form"
	@echo "make guard   whether a hot kernel has become slower (AGAINST=folder: than in that checkout)"
	@echo "make docs    the documentation as a site, in build/site"
	@echo "make experiments    what the papers found, measured again (DATA=folder, QUICK=1, OUT=folder)"
	@echo "make clean   remove the environment, caches and output"
	@echo
	@echo "PYTHON=python3.12 chooses the interpreter of a new environment, JOBS=4 the test processes."

demo: $(READY)
	$(RUN) examples/demo.py

test: lint tests pure

lint: $(READY)
	$(RUN) -m ruff format --check .
	$(RUN) -m ruff check .
	$(RUN) -m mypy
	$(RUN) -c "from importlinter.cli import lint_imports_command; lint_imports_command()"

tests: $(READY)
	$(RUN) -m pytest -n $(JOBS)

# Kernels as plain Python: coverage sees their lines, and an index out of range is an error.
pure: $(READY)
	NUMBA_DISABLE_JIT=1 $(RUN) -m pytest -m pure_python -n $(JOBS) \
		--cov --cov-report=term

format: $(READY)
	$(RUN) -m ruff format .
	$(RUN) -m ruff check --fix .

# Not a part of "make test": ratios belong to a kind of processor.
guard: $(READY)
	$(RUN) benchmarks/guard.py $(if $(AGAINST),--against $(AGAINST))

# The site builds without a network, and any warning is an error (unless --quiet, which counts none).
docs: $(READY)
	NO_MKDOCS_2_WARNING=1 $(RUN) -m mkdocs build --strict
	@echo "wrote build/site/index.html; to search it: $(RUN) -m http.server --directory build/site"

# One command each; what needs a data set that is not there says so and takes another. Results go to
# build/experiments; OUT=docs/experiments writes those of the documentation.
EXPERIMENTS := $(wildcard experiments/[a-z]*.py)
experiments: $(READY)
	@for file in $(EXPERIMENTS); do \
		echo "== $$file"; \
		$(RUN) $$file $(if $(DATA),--data $(DATA)) $(if $(OUT),--out $(OUT)) $(if $(QUICK),--quick) \
			|| exit 1; \
	done

clean:
	rm -rf $(VENV) build dist .coverage htmlcov demo.png
	rm -rf .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache
	find src tests tools examples benchmarks experiments docs -name __pycache__ -type d -prune -exec rm -rf {} +

# An environment that lacks pip (an interrupted start, a Python that was removed) is made anew.
$(READY): pyproject.toml
	@$(RUN) -m pip --version >/dev/null 2>&1 || { \
		command -v $(PYTHON) >/dev/null || { \
			echo "error: $(PYTHON) not found: install Python 3.11 or newer, or name one: make PYTHON=..." >&2; exit 1; }; \
		$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
			echo "error: $(PYTHON) is $$($(PYTHON) --version 2>&1), but Python 3.11 or newer is needed:" \
				"name one, as in make PYTHON=python3.12" >&2; exit 1; }; \
		$(PYTHON) -c 'import venv, ensurepip' 2>/dev/null || { \
			echo "error: $(PYTHON) cannot make environments (no venv or ensurepip module):" \
				"install them (Debian, Ubuntu: apt install python3-venv), or name another Python:" \
				"make PYTHON=..." >&2; exit 1; }; \
		echo "making $(VENV) with $$($(PYTHON) --version)"; \
		$(PYTHON) -m venv --clear $(VENV); }
	$(RUN) -m pip install --quiet --editable ".[dev]"
	@touch $@
