#!/bin/bash
# Our tasks in lm-eval, attention beyond a window, ORCA's scoring and training on one GPU: a Markdown table on standard
# output, in at most eight minutes on an H100. The model gets random weights here; nothing is downloaded.
#
#   tests/engines/gpu.sh > table.md
#   SMALL=1 tests/engines/gpu.sh             small sizes on the processor, to test this script
#   PYTHON=/path/to/python                   default: .venv/bin/python, else python3; it has torch, transformers, accelerate, peft
#   WHEELS=folder tests/engines/gpu.sh       install the folder's wheels for this run only: for a machine without network
#
# Fill the folder on another machine, for the Python version of the one with the GPU:
#
#   pip download --no-deps --only-binary :all: --python-version 3.12 --platform manylinux_2_28_x86_64 \
#       --platform manylinux_2_17_x86_64 --platform manylinux2014_x86_64 -d FOLDER -r tests/engines/gpu_wheels.txt
#   pip wheel --no-deps -w FOLDER rouge-score sqlitedict word2number    # these have no wheels
set -euo pipefail
cd "$(dirname "$0")/../.."
python=${PYTHON:-.venv/bin/python}
[ -x "$python" ] || python=python3
export PYTHONPATH=$PWD HF_HUB_OFFLINE=1 HF_DATASETS_OFFLINE=1 TOKENIZERS_PARALLELISM=false
if [ -n "${WHEELS:-}" ]; then
    site=$(mktemp -d)
    trap 'rm -rf "$site"' EXIT
    "$python" -m pip install -q --no-index --no-deps --no-compile --target "$site" "$WHEELS"/*.whl
    export PYTHONPATH=$PWD:$site
fi
"$python" tests/engines/gpu_check.py ${SMALL:+--small}
