"""Downloads from a server on this machine that breaks, ignores ranges, sends wrong content or is absent."""

import hashlib
import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from file_server import Server, file_server
from run_commands import lct

from long_context_tasks.benchmarks.catalogue import card
from long_context_tasks.benchmarks.downloads import fetch_file
from long_context_tasks.cli import data as data_command
from long_context_tasks.recast import carriers
from long_context_tasks.recast.carriers import CarrierFile, carriers_of
from long_context_tasks.schema import InputError, Options

CONTENT = json.dumps([{"text": "x" * 50, "number": i} for i in range(4000)]).encode()
SHA = hashlib.sha256(CONTENT).hexdigest()


@pytest.fixture
def server() -> Iterator[Server]:
    with file_server(CONTENT) as state:
        yield state


def fetch(server: Server, path: Path, **options):
    options = {"sha256": SHA, "wait": 0.01, "attempts": 4, **options}
    return fetch_file([f"{server.url}/file.json"], path, **options)


def only(path: Path) -> None:
    """Check that the file is the only one in its folder."""
    assert path.read_bytes() == CONTENT
    assert [entry.name for entry in path.parent.iterdir()] == [path.name]


def test_whole_file(server, tmp_path):
    seen = []
    done = fetch(server, tmp_path / "new" / "file.json", on_bytes=lambda n, total: seen.append((n, total)))
    only(tmp_path / "new" / "file.json")
    assert (done.sha256, done.size, done.verified) == (SHA, len(CONTENT), True)
    assert seen[0] == (0, len(CONTENT)) and seen[-1] == (len(CONTENT), len(CONTENT))


def test_broken_connections_are_resumed(server, tmp_path):
    server.breaks = [70_000, 90_000]
    fetch(server, tmp_path / "file.json")
    only(tmp_path / "file.json")
    first, second, third = (int(asked[6:-1]) if asked else 0 for _, asked in server.asked)
    assert first == 0 < second <= 70_000 and second < third <= 160_000


def test_a_server_that_ignores_ranges_sends_the_file_again(server, tmp_path):
    server.breaks, server.ranges = [70_000], False
    fetch(server, tmp_path / "file.json")
    only(tmp_path / "file.json")
    assert server.asked[1][1] is not None


def test_a_later_call_goes_on_where_the_first_stopped(server, tmp_path):
    server.breaks = [70_000]
    with pytest.raises(InputError, match="what has arrived is kept"):
        fetch(server, tmp_path / "file.json", attempts=1)
    assert not (tmp_path / "file.json").exists() and (tmp_path / "file.json.part").stat().st_size > 0
    fetch(server, tmp_path / "file.json")
    only(tmp_path / "file.json")
    assert server.asked[1][1] is not None


def test_a_file_that_changed_meanwhile_is_fetched_anew(server, tmp_path):
    server.content, server.breaks = b"[" + b"0," * len(CONTENT), [70_000]
    with pytest.raises(InputError):
        fetch(server, tmp_path / "file.json", attempts=1)
    server.content, server.etag = CONTENT, '"two"'
    fetch(server, tmp_path / "file.json", sha256=None)
    only(tmp_path / "file.json")


@pytest.mark.parametrize(
    ("part", "version"),
    [(CONTENT, None), (b"x" * (len(CONTENT) + 5), '"older"'), (b"x" * 10, '"older"')],
    ids=["everything arrived", "too much", "another version"],
)
def test_parts_of_an_earlier_try(server, tmp_path, part, version):
    (tmp_path / "file.json.part").write_bytes(part)
    notes = {"url": f"{server.url}/file.json", "version": version or server.etag}
    (tmp_path / "file.json.part.json").write_text(json.dumps(notes), encoding="utf-8")
    fetch(server, tmp_path / "file.json")
    only(tmp_path / "file.json")


@pytest.mark.slow
def test_overload_is_waited_for_and_a_missing_file_is_not(server, tmp_path):
    server.statuses = [503, 429]
    fetch(server, tmp_path / "file.json")
    assert len(server.asked) == 3
    server.asked.clear()
    with pytest.raises(InputError) as caught:
        fetch_file([f"{server.url}/missing.json"], tmp_path / "other.json", wait=0.01)
    assert len(server.asked) == 1 and not (tmp_path / "other.json").exists()
    for word in ("404", f"{server.url}/missing.json", str(tmp_path / "other.json")):
        assert word in str(caught.value)


def test_second_address(server, tmp_path):
    urls = [f"{server.url}/missing.json", f"{server.url}/file.json"]
    done = fetch_file(urls, tmp_path / "file.json", sha256=SHA, wait=0.01)
    assert done.url == urls[1]
    only(tmp_path / "file.json")


def test_wrong_checksum_leaves_nothing_and_keeps_the_old_file(server, tmp_path):
    (tmp_path / "file.json").write_text("old", encoding="utf-8")
    server.content = CONTENT.replace(b"x", b"y")
    with pytest.raises(InputError, match="wrong checksum.*expected " + SHA):
        fetch(server, tmp_path / "file.json")
    assert [(entry.name, entry.read_text()) for entry in tmp_path.iterdir()] == [("file.json", "old")]


def test_no_server(tmp_path):
    url = "http://127.0.0.1:9/file.json"
    with pytest.raises(InputError) as caught:
        fetch_file([url], tmp_path / "file.json", attempts=2, wait=0.01)
    for word in (url, "no connection", "What to do"):
        assert word in str(caught.value)
    with pytest.raises(InputError, match="could not be fetched"):
        fetch_file(["nonsense"], tmp_path / "file.json", wait=0.01)
    assert list(tmp_path.iterdir()) == []


def test_two_at_once(server, tmp_path):
    from filelock import FileLock

    with FileLock(tmp_path / ".file.json.lock"), pytest.raises(InputError, match="another process"):
        fetch(server, tmp_path / "file.json")


@pytest.fixture
def published(server, monkeypatch):
    """The files of ada_leval on the server of this machine."""
    real = card("ada_leval")
    items = [
        data_command.PublishedFile(item.name, item.task, item.length, (f"{server.url}/{item.name}",), sha)
        for item in data_command.published_files(real)
        for sha in [SHA if item.name == "stackselect_1k.json" else None]
    ]
    monkeypatch.setattr(data_command, "published_files", lambda _: items)
    return items


def test_fetch_and_status(published, server, tmp_path, monkeypatch):
    monkeypatch.setenv("LCT_DATA_DIR", str(tmp_path))
    result = lct("data", "fetch", "ada_leval", "--file", "1k")
    assert result.code == 0, result
    assert "stackselect_1k.json: " in result.out and "checksum agrees" in result.out
    assert f"sha256 {SHA} recorded" in result.out
    folder = tmp_path / "ada_leval"
    names = ["fetched.json", "stackselect_1k.json", "textsort_1k.json"]
    assert sorted(path.name for path in folder.iterdir()) == names
    server.asked.clear()
    again = lct("data", "fetch", "ada_leval", "--file", "bestanswer_1k")
    assert "there already" in again.out and not server.asked
    (folder / "textsort_1k.json").write_text("[]", encoding="utf-8")
    (folder / "textsort_2k.json.part").write_text("[", encoding="utf-8")
    text = lct("data", "status").out
    for row in (
        r"stackselect_1k.json +[\d,]+ bytes, checksum agrees",
        r"textsort_1k.json +2 bytes, WRONG CHECKSUM",
        r"textsort_2k.json +partly fetched",
        rf"  missing: .*textsort_4k.json, .* and {len(published) - 3 - 8} more; `lct data fetch ada_leval`",
    ):
        assert re.search(row, text), row
    wrong = lct("data", "fetch", "ada_leval", "--file", "tsort_1k")
    assert wrong.code == 2 and "--force fetches it again" in wrong.err


def test_status_of_a_benchmark_without_files() -> None:
    assert lct("data", "status", "needle").out == "needle: no published files to fetch\n"


def test_a_dead_link_among_others(published, server, tmp_path):
    server.statuses = [404, 200]
    result = lct("data", "fetch", "ada_leval", "--file", "1k", "--data-dir", str(tmp_path))
    assert result.code == 2
    assert f"{server.url}/textsort_1k.json: the server answers 404" in result.err
    assert "generated from a seed" in result.err and "lct build" in result.err
    assert (tmp_path / "ada_leval" / "stackselect_1k.json").is_file()


def test_a_web_page_instead_of_data(published, server, tmp_path):
    server.content = b"<!DOCTYPE html><title>Domain for sale</title>"
    result = lct("data", "fetch", "ada_leval", "--file", "tsort_2k", "--data-dir", str(tmp_path))
    assert result.code == 2 and "web page" in result.err
    assert not list((tmp_path / "ada_leval").iterdir())


@pytest.mark.parametrize(
    ("wanted", "names"),
    [
        ("2k", "textsort_2k stackselect_2k"),
        ("tsort_2k, stackselect_6k.json", "textsort_2k stackselect_6k"),
        ("tsort_1*k", "textsort_1k textsort_16k textsort_128k"),
    ],
)
def test_choice_of_files(wanted, names):
    files = data_command.published_files(card("ada_leval"))
    chosen = data_command.choose_files(files, wanted)
    assert [item.name.removesuffix(".json") for item in chosen] == names.split()
    with pytest.raises(InputError, match=r"--file 3k: no such file; there are: textsort"):
        data_command.choose_files(files, "2k,3k")


def test_status_agrees_with_tasks_about_other_copies(tmp_path: Path) -> None:
    (tmp_path / "ethic").mkdir()
    row = {"ID": "books_1", "Domain": "Books", "System_msg": "s", "User_msg": "u", "Answer": "a"}
    (tmp_path / "ethic" / "recalling.jsonl").write_text(json.dumps(row), encoding="utf-8")
    status = lct("data", "status", "ethic", "--data-dir", tmp_path).out
    assert "4 tasks run without them, on other files in this folder: ethic_recall_books, " in status


def test_carriers_are_fetched_into_a_folder_for_each_kind(
    server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    novel, debate = b"Chapter 1\n\nIt rained.\n", b"<Hansard/>"
    server.files = {"/novel": novel, "/debate": debate, "/page": b"<!DOCTYPE html><html>gone</html>"}
    listed = (
        CarrierFile("novels", "rain.txt", f"{server.url}/novel", hashlib.sha256(novel).hexdigest()),
        CarrierFile("debates", "rain.xml", f"{server.url}/debate", None),
    )
    monkeypatch.setattr(carriers, "carrier_files", lambda: listed)
    done = lct("data", "fetch", "carriers", "--data-dir", tmp_path).out
    assert "rain.txt: 22 bytes, checksum agrees" in done
    assert "rain.xml: 10 bytes, no published checksum" in done
    assert (tmp_path / "carriers" / "novels" / "rain.txt").read_bytes() == novel
    assert carriers_of(Options(data_dir=tmp_path), "debates", "a task") == tmp_path / "carriers" / "debates"
    nothing = lct("data", "status", "carriers", "--data-dir", tmp_path / "elsewhere").out
    assert nothing.splitlines()[1:] == [
        "  missing: novels/rain.txt, debates/rain.xml; `lct data fetch carriers`"
    ]
    status = lct("data", "status", "carriers", "--data-dir", tmp_path).out
    assert "novels/rain.txt" in status and "as when fetched" in status
    page = CarrierFile("novels", "gone.txt", f"{server.url}/page", None)
    monkeypatch.setattr(carriers, "carrier_files", lambda: (page,))
    failed = lct("data", "fetch", "carriers", "--data-dir", tmp_path)
    assert failed.code and "a web page, not data" in failed.err and "lct_carriers" in failed.err


def test_carriers_that_are_missing_are_named_with_the_remedies(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"carriers/novels is missing.*lct data fetch carriers.*--carriers"):
        carriers_of(Options(data_dir=tmp_path), "novels", "a task")
    with pytest.raises(InputError, match="own/novels is missing"):
        carriers_of(Options(carriers=tmp_path / "own"), "novels", "a task")


def test_the_listed_checksums_are_those_of_the_shared_copies(shared: Path) -> None:
    folders = {"novels": "books", "debates": "debates/raw"}
    checked = 0
    for file in carriers.carrier_files():
        copy = shared / "data" / folders[file.kind] / f"{file.name}.gz"
        if copy.is_file():
            checked += 1
            assert data_command.plain_sha256(copy) == file.sha256, file.name
    assert checked == 33
