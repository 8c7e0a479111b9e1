# Two commands do all: `make demo` and `make test`. Each creates .venv and installs what it needs.
PYTHON ?= python3
BIN := .venv/bin
PIP = $(BIN)/python -m pip install --quiet --disable-pip-version-check
JOBS ?= 2
INPUTS ?= 100000
TARGETS ?=
SECONDS ?= 300
STATES ?= 10000
KILLS ?= 300
PHOTOS ?= 0
SEED ?= 1
# locked.txt has the files of one kind of machine; elsewhere, or with LOCKED=, the versions of constraints.txt are taken.
HERE := $(shell $(PYTHON) -c 'import sys, sysconfig; print(sys.implementation.cache_tag, sysconfig.get_platform())')
LOCKED ?= $(if $(filter cpython-311-linux-x86_64,$(subst $() ,-,$(HERE))),yes)
ONE_THREAD := OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 JAX_PLATFORMS=cpu

.DEFAULT_GOAL := help
.PHONY: help install lock wheel try-wheel demo test test-slow test-all fuzz fuzz-guided soak crash kills lint format types layers bench docs clean

help:  ## this list
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 14

.venv/installed: pyproject.toml experiments/pyproject.toml constraints.txt locked.txt
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
ifeq ($(LOCKED),yes)
	$(PIP) --require-hashes --no-deps -r locked.txt
	$(PIP) --no-deps --no-build-isolation -e . -e experiments
else
	$(PIP) -c constraints.txt -e '.[dev,papers]' -e experiments
endif
	touch $@

install: .venv/installed  ## create .venv and install Topicture with its tools

lock: .venv/installed  ## write locked.txt and sbom.cdx.json anew, after a change of constraints.txt
	$(BIN)/python tools/lock.py

wheel: .venv/installed  ## build dist/topicture-*.whl, the same bytes every time
	rm -rf dist
	$(BIN)/python -m build --wheel --no-isolation --outdir dist

try-wheel: wheel  ## install the wheel into an empty environment and run it there, with PHOTOS photos
	$(BIN)/python tools/try_wheel.py dist/*.whl --photos $(PHOTOS)

demo: .venv/installed  ## render the sample collection, learn, annotate, write demo/index.html
	$(BIN)/topicture demo --out demo
	@echo "Open the sample collection in the page: $(BIN)/topicture demo --serve"

test: .venv/installed  ## the test suite (under ten minutes on two cores)
	$(BIN)/python -m pytest -n $(JOBS) --dist loadgroup

test-slow: .venv/installed  ## the slow statistical tests alone
	$(BIN)/python -m pytest -n $(JOBS) --dist loadgroup -m slow

test-all: test test-slow  ## everything

fuzz: .venv/installed  ## mutated files against every reader: INPUTS per target, of all TARGETS or those named, in JOBS processes
	cd tests && ../$(BIN)/python -m fuzz --inputs $(INPUTS) --jobs $(JOBS) --found ../fuzz-found $(TARGETS)

fuzz-guided: .venv/installed  ## the same for one of TARGETS, guided by coverage; needs Atheris (pip install atheris)
	cd tests && ../$(BIN)/python -m fuzz.with_atheris $(TARGETS) -runs=$(INPUTS)

soak: .venv/installed  ## everything at once for SECONDS, with kills, full disks and another program; SEED
	work=$$(mktemp -d) && $(ONE_THREAD) $(BIN)/python tests/soak/soak_driver.py $$work $(SECONDS) $(SEED); \
	status=$$?; rm -rf "$$work"; exit $$status

crash: .venv/installed  ## power cuts: STATES that a disk may be left in, of every write path; SEED
	work=$$(mktemp -d) && $(ONE_THREAD) $(BIN)/python tests/crash/crash_driver.py $$work $(STATES) $(SEED); \
	status=$$?; rm -rf "$$work"; exit $$status

kills: .venv/installed  ## KILLS at random moments, and a third as many at system calls; SEED
	work=$$(mktemp -d) && $(ONE_THREAD) $(BIN)/python tests/app/kill_driver.py $$work/moments $(KILLS) $(SEED) && \
	$(ONE_THREAD) $(BIN)/python tests/app/kill_at_calls.py $$work/calls $$(($(KILLS) / 3)) $(SEED); \
	status=$$?; rm -rf "$$work"; exit $$status

lint: .venv/installed types layers  ## style, types and layers
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

format: .venv/installed  ## rewrite the sources in the project's style
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

types: .venv/installed
	$(BIN)/mypy

layers: .venv/installed
	$(BIN)/lint-imports

bench: .venv/installed  ## benchmarks; results in benchmarks/results
	$(BIN)/python -m benchmarks

docs: .venv/installed  ## the documentation site, offline: build/docs/index.html
	rm -rf docs/_api
	$(ONE_THREAD) $(BIN)/python -m sphinx -b html -W --keep-going -d build/doctrees docs build/docs

clean:  ## remove what make created
	rm -rf .venv demo fuzz-found build dist docs/_gallery docs/_api .pytest_cache .ruff_cache .import_linter_cache
