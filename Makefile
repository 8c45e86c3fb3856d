# Two commands do all the set-up: `make demo` shows the main thing, `make test` checks everything.
# The work is in tools/; PYTHON names the interpreter to use.

PYTHON ?= python3
# Where `make demo` installs, and where checks leave their reports.
BUILD := .build
# How many seeds `make simulate` tries.
SEEDS ?= 10000
# Two runs at once share nothing but the cache, which locks itself.
.NOTPARALLEL:
.DEFAULT_GOAL := help
.PHONY: help demo test test-fast test-kubernetes lint format reference simulate chaos bench manifests lock clean

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-15s %s\n", $$1, $$2 }' Makefile

demo: ## install into .build/demo and run a job on this machine
	@sh tools/demo.sh "$(PYTHON)" "$(BUILD)/demo"

test: ## install what the tests need, outside the tree, and run all of them
	@"$(PYTHON)" tools/check.py lint types layers fast long machine kubernetes

test-kubernetes: ## the last tier of them: those on real Kubernetes, as root; compiles it first, which takes a quarter of an hour once
	@"$(PYTHON)" tools/check.py kubernetes

test-fast: ## the tests that need no server, no root and no time, after the linters
	@"$(PYTHON)" tools/check.py lint types layers fast

lint: ## ruff, mypy and the import contracts
	@"$(PYTHON)" tools/check.py lint types layers

format: ## put the code into its form, and mend what can be mended safely
	@bin=$$("$(PYTHON)" tools/environment.py test) && "$$bin/ruff" check --fix-only --quiet . && "$$bin/ruff" format .

reference: ## write what is generated in docs/reference and docs/managers
	@bin=$$("$(PYTHON)" tools/environment.py test) && export PYTHONPATH=src && "$$bin/python" tools/reference.py && "$$bin/python" tools/fields.py && "$$bin/python" tools/managers.py

simulate: ## whole lives of jobs, each from a seed, on all cores; SEEDS=100000 for more of them, SEED=4711 for one
	@sh tools/simulate.sh "$(PYTHON)" "$(BUILD)" "$(SEEDS)" 0 $(SEED)

chaos: ## kill real processes 500 times against real Slurm; KILLS=N, as root, some 40 minutes
	@bin=$$("$(PYTHON)" tools/environment.py test) && PYTHONPATH=src:. "$$bin/python" -m tests.chaos --kills $(or $(KILLS),500)

bench: ## measure what Bascule costs and write docs/benchmarks.md; ROWS="table accepts" for some, AHEAD=1 on a busy machine; as root, some 30 minutes
	@bin=$$("$(PYTHON)" tools/environment.py test) && PYTHONPATH=src:. "$$bin/python" -m bench --state "$(BUILD)/bench.json" $(if $(AHEAD),--ahead) $(if $(ROWS),--only $(ROWS))

manifests: ## write what is generated under deploy/; HELM=PATH names the program `helm`
	@bin=$$("$(PYTHON)" tools/environment.py test) && export PYTHONPATH=src:. && "$$bin/python" tools/manifests.py $(or $(HELM),helm)

lock: ## pin and hash what pyproject.toml asks for
	@sh tools/lock.sh "$(PYTHON)"

clean: ## remove what was made in the tree; the cache outside it stays
	rm -rf $(BUILD) dist .hypothesis .mypy_cache .pytest_cache .ruff_cache
	find . -name __pycache__ -type d -not -path './.git/*' -exec rm -rf {} +
