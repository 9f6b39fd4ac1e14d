# `make` only prepares .venv; the real interface is Snakemake (see README.md).
#
#   make reproduce   every figure, table and the scorecard of the papers
#   make quick       the same with one example of each kind: about five minutes
#   make beyond      our own studies
#   make test        the tests
#   make cluster     as root: the tests on a SLURM of one node, which it installs
#   make report      report.html of what was reproduced; after make quick, with
#                    CONFIG=config/quick.yaml
#   make bench       cost of one ensemble stage by stage, of learning and of densities
#   make check       lint and format checks

PYTHON ?= python3
VENV := .venv
READY := $(VENV)/ready
BIN := $(VENV)/bin
SNAKEMAKE := PATH="$(CURDIR)/$(BIN):$$PATH" $(BIN)/snakemake

.DEFAULT_GOAL := help
.PHONY: help reproduce quick beyond test cluster report bench check clean

help:
	@sed -n 's/^#   //p' Makefile

$(READY): requirements.lock pyproject.toml
	@$(PYTHON) -c 'import sys; v = sys.version_info; sys.exit(0 if v >= (3, 11) else f"Python >= 3.11 is needed, this is {v.major}.{v.minor}; try: make PYTHON=python3.11 ...")'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --disable-pip-version-check -r requirements.lock
	$(BIN)/pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation -e .
	@touch $@

reproduce: $(READY)
	$(SNAKEMAKE)

quick: $(READY)
	$(SNAKEMAKE) --configfile config/quick.yaml

beyond: $(READY)
	$(SNAKEMAKE) beyond

test: $(READY)
	PATH="$(CURDIR)/$(BIN):$$PATH" $(BIN)/python -m pytest

cluster: $(READY)
	PATH="$(CURDIR)/$(BIN):$$PATH" LEASTACTION_SLURM=1 $(BIN)/python -m pytest -n 0 -rs tests/slurm

report: $(READY)
	$(SNAKEMAKE) $(if $(CONFIG),--configfile $(CONFIG)) --report report.html

bench: $(READY)
	OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 $(BIN)/python benchmarks/stochastic_lagrangian.py
	OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 $(BIN)/python benchmarks/shadow_integration.py
	OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 $(BIN)/python benchmarks/fokker_planck.py

check: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/snakefmt --check Snakefile workflow
	$(SNAKEMAKE) --lint

clean:
	rm -rf $(VENV) .snakemake logs results/*/ results/*.csv results/*.html results/scorecard.md results/studies.md report.html
