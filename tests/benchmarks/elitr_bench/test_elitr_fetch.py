"""`lct data fetch elitr_bench` from a server on this machine that has the invented archives."""

import hashlib
import re
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from file_server import Server, file_server
from invented_meetings import QUESTIONS, TEXTS, write_archives
from typer.testing import CliRunner, Result

from long_context_tasks.benchmarks import catalogue
from long_context_tasks.benchmarks.catalogue import card
from long_context_tasks.benchmarks.elitr_bench.archives import Archives
from long_context_tasks.cli import app
from long_context_tasks.cli import data as data_command

ARCHIVES = tuple(card("elitr_bench").data["sha256"])


@pytest.fixture
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    """Has the archives; the card names it and their checksums."""
    folder = write_archives(tmp_path / "authors")
    contents = {name: (folder / name).read_bytes() for name in ARCHIVES}
    real = card("elitr_bench")
    with file_server() as state:
        state.files = {f"/{name}": content for name, content in contents.items()}
        data = {
            **real.data,
            "other_urls": {name: f"{state.url}/{name}" for name in ARCHIVES},
            "sha256": {name: hashlib.sha256(content).hexdigest() for name, content in contents.items()},
        }
        changed = real.model_copy(update={"data": data})
        # What the catalogue keeps for the whole process is of the real card.
        assert catalogue.parse_task("elitr_bench_qa_dev").benchmark == "elitr_bench"
        monkeypatch.setattr(catalogue, "card", lambda name: changed if name == "elitr_bench" else card(name))
        monkeypatch.setenv("LCT_DATA_DIR", str(tmp_path / "user"))
        yield state


def fetch(*words: str) -> Result:
    return CliRunner().invoke(app, ["data", "fetch", "elitr_bench", *words])


def test_the_card_has_an_address_and_a_checksum_of_each_archive() -> None:
    files = data_command.published_files(card("elitr_bench"))
    assert [file.name for file in files] == list(ARCHIVES)
    for file in files:
        assert re.fullmatch("[0-9a-f]{64}", file.sha256 or "")
        [url] = file.urls
        # A commit, not a branch: what the address gives never changes.
        assert re.fullmatch(
            rf"https://raw\.githubusercontent\.com/utter-project/[^/]+/[0-9a-f]{{40}}/{file.name}", url
        )


def test_everything_is_fetched_and_stays_encrypted(server: Server, tmp_path: Path) -> None:
    result = fetch()
    assert result.exit_code == 0, result.output
    assert result.stdout.count("checksum agrees") == 5
    folder = tmp_path / "user" / "elitr_bench"
    assert {path.name for path in folder.iterdir()} == {*ARCHIVES, "fetched.json"}
    for name in ARCHIVES:
        with zipfile.ZipFile(folder / name) as archive:
            assert all(member.flag_bits & 1 for member in archive.infolist())
    secrets = [*TEXTS.values(), *(row[3].strip() for rows in QUESTIONS.values() for row in rows)]
    for path in (tmp_path / "user").rglob("*"):
        if path.is_file():
            assert not [text for text in secrets if text.encode() in path.read_bytes()], path
    assert len(Archives(folder).questions("dev")) == 2 and Archives(folder).transcripts("test")
    server.asked.clear()
    again = fetch()
    assert again.exit_code == 0 and again.stdout.count("there already") == 5 and not server.asked
    status = CliRunner().invoke(app, ["data", "status", "elitr_bench"]).stdout
    assert status.count("checksum agrees") == 5


def test_redirects_are_followed_and_resumed(server: Server, tmp_path: Path) -> None:
    server.redirects = {"/data.zip": "/elsewhere/data.zip"}
    server.files["/elsewhere/data.zip"] = server.files["/data.zip"]
    server.breaks = [100]
    assert fetch("--file", "data.zip").exit_code == 0
    assert (tmp_path / "user" / "elitr_bench" / "data.zip").read_bytes() == server.files["/data.zip"]
    assert server.asked[-1] == ("/elsewhere/data.zip", "bytes=100-")
    server.redirects = {"/czech.zip": "/czech.zip"}
    result = fetch("--file", "czech.zip")
    assert (
        result.exit_code == 2 and f"{server.url}/czech.zip" in result.stderr and "redirect" in result.stderr
    )
