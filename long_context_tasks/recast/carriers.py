"""Locate carriers, the real texts that recast cases are made from, and list the downloadable ones.

A carriers folder has one subfolder per kind, with files in the formats read by
:mod:`long_context_tasks.corpora`::

    carriers/novels/*.txt  debates/*.xml
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from long_context_tasks.schema import InputError, Options
from long_context_tasks.schema.files import read_yaml
from long_context_tasks.schema.options import data_dir
from long_context_tasks.schema.validated import Checked, validated
from long_context_tasks.tokens.build_settings import SourceOption

NAME = "carriers"  # name of the folder in LCT_DATA_DIR, and in `lct data fetch`
CARRIERS = SourceOption(
    NAME,
    "Folder of real texts that recast cases are made from, with novels/ and debates/. Default: carriers in LCT_DATA_DIR",
    "Recast tasks",
)
NOVELS, DEBATES = "novels", "debates"
CARRIER_KINDS = {"books": NOVELS, "debates": DEBATES}  # by the domain of the cases


@dataclass(frozen=True)
class CarrierFile:
    kind: str  # subfolder for the file
    name: str  # file name in that subfolder
    url: str  # download URL
    sha256: str | None  # hash of the plain file, if we could check a copy


class _CarrierRow(Checked):
    url: str
    sha256: str | None = None


class _Set(Checked):
    kind: str
    licence: str
    files: Mapping[str, _CarrierRow]


@cache
def carrier_files() -> tuple[CarrierFile, ...]:
    """Return the files listed in ``carriers.yaml``."""
    path = Path(__file__).with_name("carriers.yaml")
    rows = read_yaml(path, "list of carriers", remedy="install the package again")
    if not isinstance(rows, list):
        raise InputError(f"{path}: has no list of carriers; install the package again")
    sets = [validated(_Set, row, str(path)) for row in rows]
    return tuple(
        CarrierFile(carrier_set.kind, name, file.url, file.sha256)
        for carrier_set in sets
        for name, file in carrier_set.files.items()
    )


def carriers_of(options: Options, kind: str, task: str) -> Path:
    """Return a kind's carriers folder, in ``lct_carriers`` or by default in ``LCT_DATA_DIR/carriers``."""
    root = options.carriers or data_dir(options, NAME)
    if not (root / kind).is_dir():
        raise InputError(
            f"{task}: {root / kind} is missing. Remedies: (1) `lct data fetch {NAME}` downloads public texts; (2) lct_carriers "
            f"(--carriers, LCT_CARRIERS) names a folder with your own texts in {kind}/; (3) run a task that needs no data: "
            "`lct tasks lct_synthetic`"
        )
    return root / kind
