"""Where things lie on a user's disk: the cache and the folder of published data."""

import os
from pathlib import Path

import platformdirs

from long_context_tasks.schema.options import Options

APP = "long_context_tasks"


def cache_dir() -> Path:
    """Folder for what can be made again: ``LCT_CACHE_DIR``, else the platform's cache folder."""
    given = os.environ.get("LCT_CACHE_DIR")
    return Path(given).expanduser() if given else Path(platformdirs.user_cache_dir(APP))


def data_dir(options: Options, benchmark: str) -> Path:
    """Folder with the published files of a benchmark: in ``lct_data_dir``, else in the cache."""
    root = options.data_dir if options.data_dir is not None else cache_dir() / "data"
    return root / benchmark
