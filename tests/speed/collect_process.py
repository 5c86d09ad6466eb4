"""Collects the runs under a folder; prints what it took. A process of its own, so that its peak is its own."""

import json
import re
import sys
import time
from pathlib import Path

from long_context_tasks.results.cells import cells_of
from long_context_tasks.results.collect import collect

# ru_maxrss begins at the peak of the process that started this one; the kernel's own mark does not.
PEAK_KB = re.compile(r"VmHWM:\s*(\d+)")

start = time.perf_counter()
collection = collect([Path(sys.argv[1])])
read_s = time.perf_counter() - start
cells = cells_of(collection)
print(
    json.dumps(
        {
            "runs": len(collection.runs),
            "scores": len(collection.scores),
            "cells": len(cells),
            "problems": list(collection.problems),
            "read_s": read_s,
            "peak_mb": int(PEAK_KB.findall(Path("/proc/self/status").read_text())[0]) / 1024,
        }
    )
)
