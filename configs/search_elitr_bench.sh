#!/usr/bin/env bash
# Configuration search of ELITR-Bench with lm-eval: configs/search_elitr_bench.sh --out FOLDER [ARGUMENTS OF LM-EVAL]; --help tells more.
exec python -m long_context_tasks.cli.report.search "$@"
