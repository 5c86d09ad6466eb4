"""OpenCompass: its classes, configs and results."""

import sys

# Only in its own processes, which load it first: `lct` reads its results without it.
if "opencompass" in sys.modules:
    from long_context_tasks.hosts.opencompass.needs import check_opencompass

    check_opencompass()
