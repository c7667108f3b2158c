# `make help` lists the targets. Everything is installed into .venv, which need not be activated.
PYTHON ?= $(shell command -v python3.11 || command -v python3)
BIN := .venv/bin

# A test uses BERTopic with our encoder and scikit-learn's clustering; its own clustering needs numba and is not used.
LIGHT := bertopic==0.17.4

.PHONY: help run test install retrain schedule tables mlflow prefect faults bench bench-quick docs wheel lint types audit clean
.DEFAULT_GOAL := help

help:  ## list the targets
	@grep -E '^[a-z-]+:.*## ' Makefile | sed -E 's/^([a-z-]+):.*## /  make \1\t/' | expand -t 20

# `venv --clear` empties .venv, or the target of a link: both must belong to this checkout.
define OWN_VENV
owner="$$(cat .venv/installed 2>/dev/null)"; \
if [ -L .venv ] && [ "$$owner" != "$(CURDIR)" ]; then \
	echo ".venv is a link to $$(readlink .venv), which was not installed for $(CURDIR)$${owner:+ but for $$owner}." \
		"Installing would empty that folder. Remove the link (rm .venv) and run make again." >&2; exit 1; \
elif [ ! -L .venv ] && [ -e .venv ] && [ ! -e .venv/installed ] && [ ! -e .venv/pyvenv.cfg ] && [ -n "$$(ls -A .venv)" ]; then \
	echo "$(CURDIR)/.venv is no Python environment, and installing would empty it; expected no folder, or one" \
		"made by make. Move it elsewhere and run make again." >&2; exit 1; \
fi
endef

# The stamp holds the checkout's path: scripts in .venv contain it, so a moved checkout has to install again.
ifneq ($(shell cat .venv/installed 2>/dev/null),$(CURDIR))
.PHONY: .venv/installed
endif
.venv/installed: requirements.lock pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "dial2vec needs Python 3.11 or newer, found %s. Set PYTHON=python3.11." % sys.version.split()[0])'
	@$(OWN_VENV)
	@echo "Installing into .venv (once; about 5 minutes)"
	$(PYTHON) -m venv --clear .venv
	$(BIN)/python -m pip install --disable-pip-version-check --quiet --requirement requirements.lock
	$(BIN)/python -m pip install --disable-pip-version-check --quiet --no-deps --editable . $(LIGHT)
	@echo "$(CURDIR)" > $@

install: .venv/installed  ## install into .venv; the other targets do this automatically

run: .venv/installed  ## train, evaluate and register a model on the corpora of params.yaml
	@$(BIN)/dial2vec run

# All tests of a file run in one process and share fixtures; one thread per process, as more would compete for cores.
test: .venv/installed  ## run the tests, on every core
	@OMP_NUM_THREADS=1 $(BIN)/python -m pytest --numprocesses auto --dist loadfile

retrain: .venv/installed  ## run and promote, as a Prefect flow
	@$(BIN)/python flows/retrain.py

schedule: .venv/installed  ## retrain every night: Prefect's server and a worker, until Ctrl-C (docs/schedule.md)
	@$(BIN)/dial2vec schedule

tables: .venv/installed  ## fill the papers' tables, as a Prefect flow (docs/tables.md)
	@$(BIN)/python flows/tables.py

# The old name.
.PHONY: benchmark
benchmark: tables

mlflow: .venv/installed  ## open the MLflow page: http://127.0.0.1:5000
	@$(BIN)/dial2vec page mlflow

prefect: .venv/installed  ## open the Prefect page: http://127.0.0.1:4200
	@$(BIN)/dial2vec page prefect

faults: .venv/installed  ## test recovery after kills at random moments; takes hours (docs/reliability.md)
	@OMP_NUM_THREADS=1 $(BIN)/python -m pytest tests/faults
	@OMP_NUM_THREADS=1 $(BIN)/python tests/faults/kills.py --kills 200 --output docs/faults.json

bench: .venv/installed  ## run all benchmarks and fill docs/benchmarks.md; over an hour on an idle machine, 3 GB
	@$(BIN)/python benchmarks/bench.py

bench-quick: .venv/installed  ## compare speed of training and encoding with other libraries; 3 minutes (docs/benchmarks.json)
	@$(BIN)/python benchmarks/speed.py --quick

docs: .venv/installed  ## build the manual in artifacts/manual; it is read and searched from disk, without a network
	@NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --quiet
	@echo "Open artifacts/manual/index.html"

wheel: .venv/installed  ## build dist/*.whl, to install in other environments
	@$(BIN)/python -m pip wheel --disable-pip-version-check --quiet --no-deps --wheel-dir dist .
	@rm -rf build && ls dist/*.whl

lint: .venv/installed types  ## run ruff, mypy and `make types`, and look up known vulnerabilities of the packages
	@$(BIN)/ruff check src flows tests benchmarks
	@$(BIN)/ruff format --check src flows tests benchmarks
	@$(BIN)/mypy
	@$(MAKE) --no-print-directory audit

# TypeScript only reads the scripts: no page is built with it.
types:  ## check the types of the explorer's scripts with TypeScript, if npx is installed
	@if command -v npx > /dev/null; then npx --yes --package typescript@7.0.2 tsc; \
		else echo "Types of scripts not checked: npx is not installed"; fi

# pip-audit has an environment of its own, so that the project does not depend on it. Packages for which the package
# index does not answer are counted as skipped.
audit:
	@[ -x .audit/bin/pip-audit ] || { $(PYTHON) -m venv .audit && \
		.audit/bin/python -m pip install --disable-pip-version-check --quiet pip-audit; } \
		|| { echo "No audit: pip-audit could not be installed here"; rm -rf .audit; }
	@[ ! -x .audit/bin/pip-audit ] || .audit/bin/pip-audit --requirement requirements.lock --no-deps --disable-pip \
		--progress-spinner off --output .audit/found.txt || { cat .audit/found.txt; exit 1; }
	@[ ! -f .audit/found.txt ] || echo \
		"$$(grep -c 'could not be audited' .audit/found.txt) of $$(grep -c == requirements.lock) packages were skipped"

clean:  ## remove .venv and caches; artifacts, data and mlruns stay
	rm -rf .venv .audit .mypy_cache .ruff_cache .hypothesis src/*.egg-info

.PHONY: lock
# Asks pip what it would install today. Packages that only torch for CUDA needs are left out; pip adds them where they
# are needed.
lock: .venv/installed  ## rewrite requirements.lock: the newest versions that requirements.in allows
	@$(BIN)/python -m pip install --disable-pip-version-check --quiet --dry-run --ignore-installed \
		--report lock.tmp --requirement requirements.in
	@grep '^#' requirements.lock > requirements.tmp
	@$(BIN)/python -c 'import json, re; \
		packages = [item["metadata"] for item in json.load(open("lock.tmp"))["install"]]; \
		pins = [item["name"] + "==" + item["version"].split("+")[0] for item in packages \
			if not re.match("(dial2vec|setuptools|triton|nvidia-.*|cuda-.*)$$", item["name"])]; \
		print(*sorted(pins, key=str.lower), sep="\n")' >> requirements.tmp
	@mv requirements.tmp requirements.lock && rm lock.tmp
	@git diff --stat requirements.lock
