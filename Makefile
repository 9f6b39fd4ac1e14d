# `make` only prepares .venv; the real interface is Snakemake (see README.md).
#
#   make reproduce   every figure, table and the scorecard of the papers
#   make quick       the same with one example of each kind: about three minutes
#   make beyond      our own studies
#   make test        the tests
#   make attack      fuzzed configurations, damaged files, hostile tables and models, jobs
#                    killed in every stage: all 20,000; `make test` tries 300; SEED=1 for others
#   make mutants     one line of the package changed at a time, the tests that execute it
#                    run: 100 take ten minutes; COUNT=20 SEED=1 for fewer and others
#   make cluster     as root: the tests on a SLURM of one node, which it installs
#   make report      report.html of what was reproduced; after make quick, with
#                    CONFIG=config/quick.yaml
#   make bench       our methods beside other packages, in an environment of its own;
#                    writes benchmarks/results.md
#   make docs        the site of the documentation: site/index.html
#   make costs       CPU of the workflow beside one process, of one ensemble stage by
#                    stage, of learning and of densities
#   make check       lint, format, imports, budgets of lines, numbers and vague names
#   make lock        requirements.lock with the newest versions that pyproject.toml allows
#   make lowest      tests of the package with the lowest versions that it allows

PYTHON ?= python3
VENV := .venv
READY := $(VENV)/ready
BIN := $(VENV)/bin
BENCH := .venv-bench
PIP_INSTALL := pip install --quiet --disable-pip-version-check
TORCH_INDEX := https://download.pytorch.org/whl/cpu
ONE_THREAD := OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 MKL_NUM_THREADS=1 \
	XLA_FLAGS="--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1"
# As workflow/rules/common.smk does: the GNU allocator keeps what is freed.
KEEP_MEMORY := MALLOC_TRIM_THRESHOLD_=1099511627776 MALLOC_MMAP_THRESHOLD_=1099511627776
PEERS := sde_ensemble sparse_regression sindy_pi xl_sindy port_hamiltonian trades cost
CLUSTER := tests/slurm
ATTACK := tests/faults/test_hostile.py tests/faults/test_attack.py tests/faults/test_killed.py
SEED := 0
COUNT := 100
# Their pins (jax <= 0.4.31, scipy <= 1.14, numpy <= 2.3) are older than what they run with.
OLDER_PINS := jax-sysid==1.1.0 sysidentpy==0.9.0
COSTS := workflow stochastic_lagrangian shadow_integration fokker_planck
# Byte code is written as modules are imported, whatever the machine sets: without it each
# job compiles the packages anew. To compile all of them first takes three times as long.
export PYTHONDONTWRITEBYTECODE :=
SNAKEMAKE := PATH="$(CURDIR)/$(BIN):$$PATH" $(BIN)/snakemake

.DEFAULT_GOAL := help
.PHONY: help reproduce quick beyond test attack mutants cluster report docs bench costs check lock lowest clean

help:
	@sed -n 's/^#   //p' Makefile

NEW_ENOUGH := import sys; v = sys.version_info; \
	sys.exit(0 if v >= (3, 11) else f"Python >= 3.11 is needed, this is {v.major}.{v.minor}; try: make PYTHON=python3.11 ...")

# uv installs in a tenth of the time of pip, and compares the same hashes. It does not read
# what pip was configured with: where that names an index, or uv fails, pip installs.
$(READY): requirements.lock pyproject.toml src/leastaction_papers/pyproject.toml
	@$(PYTHON) -c '$(NEW_ENOUGH)'
	$(PYTHON) -m venv $(VENV)
	awk '/^[^ ]/ { ours = /^uv==/ } ours' requirements.lock >$(VENV)/uv.txt
	{ ! $(BIN)/pip config list 2>/dev/null | grep -q '\.index-url=' && \
		$(BIN)/$(PIP_INSTALL) --only-binary :all: -r $(VENV)/uv.txt && \
		$(BIN)/uv pip install --quiet --python $(BIN)/python --require-hashes -r requirements.lock; } || \
		$(BIN)/$(PIP_INSTALL) --no-compile -r requirements.lock
	$(BIN)/$(PIP_INSTALL) --no-compile --no-deps --no-build-isolation -e . -e src/leastaction_papers
	$(BIN)/python -m leastaction_papers.configuration.schemas workflow/schemas
	@touch $@

$(BENCH)/ready: benchmarks/requirements.txt pyproject.toml
	@$(PYTHON) -c '$(NEW_ENOUGH)'
	$(PYTHON) -m venv $(BENCH)
	$(BENCH)/bin/$(PIP_INSTALL) --extra-index-url $(TORCH_INDEX) --no-deps \
		"$$(grep '^torch==' benchmarks/requirements.txt)"
	$(BENCH)/bin/$(PIP_INSTALL) -r benchmarks/requirements.txt
	$(BENCH)/bin/$(PIP_INSTALL) --no-deps $(OLDER_PINS)
	$(BENCH)/bin/$(PIP_INSTALL) --no-deps --no-build-isolation -e . -e src/leastaction_papers
	@touch $@

# The lock names neither an index nor a folder; --allow-unsafe pins setuptools, too.
lock:
	$(PYTHON) -m venv .venv-lock
	.venv-lock/bin/$(PIP_INSTALL) pip-tools
	CUSTOM_COMPILE_COMMAND='make lock' \
		.venv-lock/bin/pip-compile --quiet --upgrade --all-extras --all-build-deps \
		--generate-hashes --allow-unsafe --strip-extras --no-annotate \
		--no-emit-index-url --no-emit-find-links --no-emit-trusted-host \
		--output-file requirements.lock pyproject.toml

lowest:
	$(PYTHON) -m venv .venv-lowest
	sed -n 's/^    "\([a-zA-Z0-9-]*\)>=\(.*\)",$$/\1==\2/p' pyproject.toml >.venv-lowest/lowest.txt
	.venv-lowest/bin/$(PIP_INSTALL) -c .venv-lowest/lowest.txt . ./src/leastaction_papers pytest pytest-xdist hypothesis
	$(ONE_THREAD) .venv-lowest/bin/python -m pytest tests/core tests/likelihood

reproduce: $(READY)
	$(SNAKEMAKE)

quick: $(READY)
	$(SNAKEMAKE) --configfile config/quick.yaml

beyond: $(READY)
	$(SNAKEMAKE) beyond

test: $(READY)
	PATH="$(CURDIR)/$(BIN):$$PATH" $(ONE_THREAD) $(BIN)/python -m pytest

attack: $(READY)
	PATH="$(CURDIR)/$(BIN):$$PATH" $(ONE_THREAD) $(BIN)/python -m pytest $(ATTACK) \
		--hypothesis-profile=attack --hypothesis-seed=$(SEED)

mutants: $(READY)
	$(ONE_THREAD) $(BIN)/python tests/mutants.py $(COUNT) --seed $(SEED)

cluster: $(READY)
	PATH="$(CURDIR)/$(BIN):$$PATH" LEASTACTION_SLURM=1 $(BIN)/python -m pytest -n 0 -rs $(CLUSTER)

report: $(READY)
	$(SNAKEMAKE) $(if $(CONFIG),--configfile $(CONFIG)) --report report.html

docs: $(READY)
	$(ONE_THREAD) $(BIN)/sphinx-build -qWE --keep-going -j 2 -c docs -d build/doctrees . site

bench: $(BENCH)/ready
	rm -f $(PEERS:%=build/bench/%.json)
	@set -e; for name in $(PEERS); do \
		echo "benchmarks/$$name.py"; \
		$(ONE_THREAD) $(KEEP_MEMORY) $(BENCH)/bin/python benchmarks/$$name.py; \
	done
	$(BENCH)/bin/python benchmarks/report.py

costs: $(READY)
	@set -e; for name in $(COSTS); do \
		echo "benchmarks/$$name.py"; \
		$(ONE_THREAD) $(BIN)/python benchmarks/$$name.py; \
	done

check: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/snakefmt --check Snakefile workflow
	$(BIN)/lint-imports --no-logo
	$(BIN)/python tests/budgets.py
	$(SNAKEMAKE) --lint

clean:
	rm -rf $(VENV)* build site docs/api jupyter_execute .snakemake logs results/*/ results/*.csv results/*.html results/matrix.* report.html
