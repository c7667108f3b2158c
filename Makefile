# `make help` lists the targets. Everything is installed into .venv, which need not be activated.
PYTHON ?= $(shell command -v python3.11 || command -v python3)
BIN := .venv/bin
TOOLS := .tools/bin
UV := $(TOOLS)/uv

# Each package is compared with its SHA-256, those that have to be built are built with setuptools of the lock, and only
# what a lock names is installed.
PIP := $(BIN)/python -m pip install --disable-pip-version-check --quiet --no-deps --no-build-isolation

.PHONY: help run test test-all install retrain schedule tables general mlflow prefect faults bench bench-quick docs wheel lint types audit sbom clean
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
.venv/installed: requirements.lock requirements.torch.lock requirements.torch-cpu.lock pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "dial2vec needs Python 3.11 or newer, found %s. Set PYTHON=python3.11." % sys.version.split()[0])'
	@$(OWN_VENV)
	@echo "Installing into .venv (once; about 5 minutes)"
	$(PYTHON) -m venv --clear .venv
	@# The CPU build of torch where pip finds one, else that of PyPI, with CUDA on Linux.
	$(PIP) --require-hashes --requirement requirements.torch-cpu.lock 2> /dev/null \
		|| $(PIP) --require-hashes --requirement requirements.torch.lock
	$(PIP) --require-hashes --requirement requirements.lock
	$(PIP) --editable .
	@echo "$(CURDIR)" > $@

install: .venv/installed  ## install into .venv; the other targets do this automatically

run: .venv/installed  ## train, evaluate and register a model on the corpora of params.yaml
	@$(BIN)/dial2vec run

# All tests of a file run in one process and share fixtures, those with services first (tests/conftest.py), which
# pytest-xdist would reorder; one thread per process, as more would compete for cores. A process that hung is not started
# again, as it would hang again.
PYTEST := OMP_NUM_THREADS=1 $(BIN)/python -m pytest --numprocesses auto --dist loadfile --no-loadscope-reorder \
	--max-worker-restart 0

test: .venv/installed  ## run the tests that start no service such as DVC or a browser, on every core
	@$(PYTEST) -m "not services"

test-all: .venv/installed  ## run all tests, on every core; CI and whoever releases do
	@$(PYTEST)

retrain: .venv/installed  ## run and promote, as a Prefect flow
	@$(BIN)/python flows/retrain.py

schedule: .venv/installed  ## scheduled runs: Prefect's server and a worker, until Ctrl-C (docs/schedule.md)
	@$(BIN)/dial2vec schedule

tables: .venv/installed  ## fill the papers' tables, as a Prefect flow (docs/tables.md)
	@$(BIN)/python flows/tables.py

# The old name.
.PHONY: benchmark
benchmark: tables

general: .venv/installed  ## make the general student again, from data/ and WordNet (general/README.md)
	@OMP_NUM_THREADS=1 $(BIN)/python general/make.py

mlflow: .venv/installed  ## open the MLflow page: http://127.0.0.1:5000
	@$(BIN)/dial2vec page mlflow

prefect: .venv/installed  ## open the Prefect page: http://127.0.0.1:4200
	@$(BIN)/dial2vec page prefect

faults: .venv/installed  ## test recovery after kills at random moments; takes hours (docs/reliability.md)
	@OMP_NUM_THREADS=1 $(BIN)/python -m pytest tests/faults
	@OMP_NUM_THREADS=1 $(BIN)/python tests/faults/kills.py --kills 300 --output docs/faults.json

bench: .venv/installed  ## run all benchmarks and fill docs/benchmarks.md; over an hour on an idle machine, 3 GB
	@$(BIN)/python benchmarks/speed/bench.py

bench-quick: .venv/installed  ## compare speed of training and encoding with other libraries; 3 minutes (docs/benchmarks.json)
	@$(BIN)/python benchmarks/speed/speed.py --quick

docs: .venv/installed  ## build the manual in artifacts/manual; it is read and searched from disk, without a network
	@NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --quiet
	@echo "Open artifacts/manual/index.html"

# Without .venv: pip builds it with setuptools alone, in seconds.
wheel:  ## build dist/*.whl, to install in other environments
	@$(PYTHON) -m pip wheel --disable-pip-version-check --quiet --no-deps --wheel-dir dist .
	@rm -rf build && ls dist/*.whl

lint: .venv/installed types  ## run ruff, mypy and `make types`, and look up known vulnerabilities of the packages
	@$(BIN)/ruff check src flows tests benchmarks docs/pictures general
	@$(BIN)/ruff format --check src flows tests benchmarks docs/pictures general
	@$(BIN)/mypy
	@$(MAKE) --no-print-directory audit

# TypeScript only reads the scripts: no page is built with it.
types:  ## check the types of the explorer's scripts with TypeScript, if npx is installed
	@if command -v npx > /dev/null; then npx --yes --package typescript@7.0.2 tsc; \
		else echo "Types of scripts not checked: npx is not installed"; fi

# Packages for which the package index does not answer are counted as skipped. The tools are looked up by themselves, as
# pip-audit refuses a package that two locks name.
AUDITED := requirements.lock requirements.torch.lock
audit:
	@$(MAKE) --no-print-directory $(UV) || echo "No audit: pip-audit could not be installed here"
	@[ ! -x $(TOOLS)/pip-audit ] || for locks in "$(addprefix --requirement ,$(AUDITED))" "--requirement requirements.tools.lock"; do \
		$(TOOLS)/pip-audit $$locks --no-deps --disable-pip --progress-spinner off --output .tools/found.txt \
			|| { cat .tools/found.txt; exit 1; }; \
		echo "$$(grep -c 'could not be audited' .tools/found.txt) packages of $$locks were skipped"; done

# A bill of materials in CycloneDX's form: each package that is installed, with version, licence and where it came from.
sbom: .venv/installed $(UV)  ## write dist/sbom.json, the list of all packages with versions and licences
	@mkdir -p dist && $(TOOLS)/cyclonedx-py environment --output-reproducible \
		--pyproject pyproject.toml --output-format JSON --output-file dist/sbom.json .venv/bin/python
	@$(BIN)/python -c 'import json; print(len(json.load(open("dist/sbom.json"))["components"]), "packages in dist/sbom.json")'

clean:  ## remove .venv and caches; artifacts, data and mlruns stay
	rm -rf .venv .tools .mypy_cache .ruff_cache .hypothesis src/*.egg-info

# uv, pip-audit and cyclonedx-bom have an environment of their own, so that the project does not depend on them, and each
# file in it is compared with its SHA-256. uv finds the packages and hashes for every system and keeps the pins
# that are there; `make lock NEWER=--upgrade` takes the newest. torch is kept apart, so that its CPU build can take its
# place, and what only its build with CUDA needs goes with it.
NEWER ?=
# Where pip looks for torch's CPU build, besides its own settings. Only the wheel for this Python and system is named.
TORCH_CPU ?= --extra-index-url https://download.pytorch.org/whl/cpu
COMPILE = $(UV) pip compile --quiet --no-config --universal --python-version 3.11 --generate-hashes --no-annotate \
	--no-header
$(UV): requirements.tools.lock
	@$(PYTHON) -m venv .tools && $(TOOLS)/python -m pip install --disable-pip-version-check --quiet --no-deps \
		--require-hashes --requirement requirements.tools.lock && touch $(UV) || { rm -rf .tools; exit 1; }

.PHONY: lock
lock: $(UV)  ## rewrite requirements*.lock from requirements.in (docs: CONTRIBUTING.md)
	@cat requirements.lock requirements.torch.lock > lock.tmp
	@$(COMPILE) $(NEWER) --excludes requirements.excluded --no-emit-package dial2vec requirements.in \
		--output-file lock.tmp
	@awk '/^[a-z]/ {file = /^(setuptools|torch|triton|nvidia-|cuda-)/ ? "requirements.torch.lock" : "requirements.lock"} \
		{print > file}' lock.tmp && rm lock.tmp
	@rm -rf .tools/torch && $(TOOLS)/python -m pip download --disable-pip-version-check --quiet --no-deps --dest .tools/torch \
		$(TORCH_CPU) "$$(sed -n 's/^\(torch==[^ ]*\).*/\1+cpu/p' requirements.torch.lock)"
	@{ sed -n '/^setuptools/,/[0-9a-f]$$/p' requirements.torch.lock; cd .tools/torch; for wheel in *; do \
		echo "$$wheel $$(sha256sum "$$wheel")" | sed 's/-\([^-]*\)-[^ ]* /==\1 --hash=sha256:/; s/  .*//'; done; } \
		> requirements.torch-cpu.lock
	@for name in build student serve schedule; do $(COMPILE) --constraint requirements.lock --constraint requirements.torch.lock \
		--no-emit-package dial2vec container/$$name.in --output-file lock.tmp \
		&& awk '/^[a-z]/ {kept = !/^(torch|triton|nvidia-|cuda-)/} kept' lock.tmp > container/$$name.lock; rm -f lock.tmp; done
	@printf '%s\n' cyclonedx-bom pip-audit uv | $(COMPILE) $(NEWER) - --output-file requirements.tools.lock
	@git diff --stat 'requirements*.lock' container
