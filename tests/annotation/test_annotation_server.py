"""The server lets in its own page only, and stores what is valid only."""

import json
import re
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest
from annotation_study import HOSTILE, make_study, served, serving
from kills import moments

from long_context_tasks.annotation import open_study
from long_context_tasks.annotation.server import listen
from long_context_tasks.schema import InputError

GOOD = {"item": "q1/small", "annotator": "ana", "rating": 4, "codes": "", "comment": ""}


@pytest.fixture(scope="module")
def link(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, Path]]:
    path = tmp_path_factory.mktemp("study") / "s.db"
    with make_study(path):
        pass
    with served(path) as found:
        yield found, path


@contextmanager
def browser(link: str) -> Iterator[httpx.Client]:
    """With the cookie that the link sets."""
    base = link.split("/?")[0]
    with httpx.Client(base_url=base, headers={"Origin": base}, trust_env=False, timeout=20) as client:
        answer = client.get(link)
        assert answer.status_code == 303 and answer.headers["location"] == "/" and "token" not in answer.text
        cookie = answer.headers["set-cookie"]
        assert "HttpOnly" in cookie and "SameSite=Strict" in cookie
        yield client


def test_the_page_and_its_headers(link: tuple[str, Path]) -> None:
    with browser(link[0]) as client:
        for path in ("/", "/page.css", "/page.js", "/api/study", "/api/queue?annotator=ana"):
            answer = client.get(path)
            assert answer.status_code == 200, path
            policy = answer.headers["content-security-policy"]
            assert "default-src 'none'" in policy and "unsafe" not in policy
            assert answer.headers["x-content-type-options"] == "nosniff"
        page = client.get("/").text
        assert not re.search(
            r"https?://|\son\w+=|<style|style=|<script>", page
        )  # nothing from outside, nothing inline
        assert not re.search(
            r"innerHTML|outerHTML|insertAdjacent|document\.write|eval\(", client.get("/page.js").text
        )
        row = client.get("/api/item", params={"id": "q1/small", "annotator": "ana"}).json()
        assert HOSTILE in row["candidate"] and "model" not in row  # who answered is not shown
        answer = client.get("/document", params={"id": "d1"})
        assert (
            answer.headers["content-type"].startswith("text/plain")
            and "sandbox" in answer.headers["content-security-policy"]
        )
        assert client.get("/document", params={"id": "d2"}).status_code == 404


def test_others_are_kept_out(link: tuple[str, Path]) -> None:
    base = link[0].split("/?")[0]
    port = base.rsplit(":", 1)[1]
    with httpx.Client(base_url=base, trust_env=False) as stranger:
        for path in ("/", "/page.js", "/api/study", "/document?id=d1", "/?token=wrong"):
            assert stranger.get(path).status_code == 403
        assert stranger.post("/api/annotation", json=GOOD).status_code == 403
        assert stranger.get(link[0], headers={"Host": f"evil.example:{port}"}).status_code == 403
    with browser(link[0]) as client:
        assert client.get("/api/study", headers={"Host": f"evil.example:{port}"}).status_code == 403
        for origin in ("http://evil.example", "http://127.0.0.1:1", "null", ""):
            assert client.post("/api/annotation", json=GOOD, headers={"Origin": origin}).status_code == 403
        form = client.post("/api/annotation", content=b"{}", headers={"Content-Type": "text/plain"})
        assert form.status_code == 415
        assert client.put("/api/annotation", json=GOOD).status_code == 405
        big = client.post("/api/annotation", json={**GOOD, "comment": "x" * 200_000})
        assert big.status_code == 413
    with open_study(link[1]) as study:
        assert study.annotations() == []


@pytest.mark.parametrize(
    "change",
    [
        {"rating": 6},
        {"rating": "4"},
        {"rating": True},
        {"rating": 4.5},
        {"codes": "QQ"},
        {"codes": "Z"},
        {"codes": ["Q"]},
        {"annotator": " "},
        {"annotator": "a\nb"},
        {"annotator": "x" * 65},
        {"comment": None},
        {"comment": "\ud800"},
        {"rating": None},
        {"extra": 1},
    ],
)
def test_what_is_not_valid_is_refused(link: tuple[str, Path], change: dict[str, Any]) -> None:
    with browser(link[0]) as client:
        body = json.dumps({**GOOD, **change})
        answer = client.post("/api/annotation", content=body, headers={"Content-Type": "application/json"})
        assert answer.status_code == 400 and answer.json()["error"]
        assert client.post("/api/annotation", json={**GOOD, "item": "gone"}).status_code == 410
    with open_study(link[1]) as study:
        assert not [one for one in study.annotations() if not one.annotator.startswith("person")]


def test_many_annotators_at_once_lose_nothing(link: tuple[str, Path]) -> None:
    with open_study(link[1]) as study:
        candidates = [one.id for one in study.candidates()]
    failed = []

    def work(person: int) -> None:
        with browser(link[0]) as client:
            for item in candidates:
                body = {**GOOD, "item": item, "annotator": f"person {person}", "rating": 1 + person}
                if client.post("/api/annotation", json=body).status_code != 200:
                    failed.append((person, item))

    threads = [threading.Thread(target=work, args=(person,)) for person in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failed
    with open_study(link[1]) as study:
        found = [one for one in study.annotations() if one.annotator.startswith("person")]
        assert len(found) == 4 * len(candidates)
        assert all(one.rating == 1 + int(one.annotator[-1]) and one.at for one in found)


def test_a_taken_port_is_told(link: tuple[str, Path]) -> None:
    port = int(link[0].split(":")[2].split("/")[0])
    with pytest.raises(InputError, match=f"--port {port}: cannot be used .*choose another, or 0"):
        listen(port)


def test_no_more_raters_than_wanted(tmp_path: Path) -> None:
    """Also when two have opened the page before either has rated."""
    with make_study(tmp_path / "s.db", raters=1):
        pass
    with served(tmp_path / "s.db") as link, browser(link) as client:
        asked = [{"id": "q1/small", "annotator": name} for name in ("ana", "ben")]
        assert [client.get("/api/item", params=each).status_code for each in asked] == [200, 200]
        assert client.post("/api/annotation", json=GOOD).status_code == 200
        assert [client.get("/api/item", params=each).status_code for each in asked] == [200, 410]


def test_a_study_that_breaks_while_it_is_served_is_told(tmp_path: Path) -> None:
    with make_study(tmp_path / "s.db"):
        pass
    with served(tmp_path / "s.db") as link, browser(link) as client:
        headers = {"Content-Type": "application/json; charset=nobody"}
        assert client.post("/api/annotation", content=b"{}", headers=headers).status_code == 400
        (tmp_path / "s.db").write_bytes(b"no database" * 1000)
        for answer in (
            client.get("/api/queue", params={"annotator": "ana"}),
            client.post("/api/annotation", json=GOOD),
        ):
            assert answer.status_code == 503 and "cannot be read or written" in answer.json()["error"]
            assert "default-src 'none'" in answer.headers["content-security-policy"]


@pytest.mark.parametrize(
    "path",
    [
        "/../s.db",
        "/%2e%2e/s.db",
        "/..%2fs.db",
        "/....//s.db",
        "/page.js/../../s.db",
        "//etc/passwd",
        "/document?id=../s.db",
        "/document?id=/etc/passwd",
        "/document?id=%00",
        "/api/item?id=../../s.db&annotator=ana",
    ],
)
def test_no_path_leads_out(link: tuple[str, Path], path: str) -> None:
    base = link[0].split("/?")[0]
    with browser(link[0]) as client:
        # As it is: a client of HTTP would tidy the path.
        request = client.build_request("GET", "/")
        request.url = httpx.URL(base, raw_path=path.encode())
        answer = client.send(request)
        assert answer.status_code in (400, 403, 404, 410)
        assert b"SQLite" not in answer.content and b"root:" not in answer.content


def rate_on(
    person: str, link: str, items: list[str], confirmed: dict[tuple[str, str], int], refused: list[int]
) -> None:
    """Rate all items over and over until the server is gone."""
    with browser(link) as client:
        for place in range(10**6):
            item, rating = items[place % len(items)], 1 + place // len(items) % 5
            body = {**GOOD, "item": item, "annotator": person, "rating": rating}
            try:
                answer = client.post("/api/annotation", json=body)
            except httpx.HTTPError:
                return
            if answer.status_code == 200:
                confirmed[item, person] = rating
            else:
                refused.append(answer.status_code)


@pytest.mark.faults
@pytest.mark.slow
def test_a_server_that_is_killed_while_it_saves_keeps_what_it_confirmed(tmp_path: Path) -> None:
    """Two people send ratings as fast as they can; whatever was answered with 200 is there once, and the study is whole."""
    for number, moment in moments("annotation"):
        path = tmp_path / f"{number}.db"
        with make_study(path) as study:
            items = [one.id for one in study.candidates()]
        confirmed: dict[tuple[str, str], int] = {}
        refused: list[int] = []
        with serving(path) as (process, link):
            given = link, items, confirmed, refused
            people = [threading.Thread(target=rate_on, args=(name, *given)) for name in ("ana", "ben")]
            for person in people:
                person.start()
            while not confirmed:
                time.sleep(0.01)
            time.sleep(moment)
            process.kill()
            for person in people:
                person.join()
        with open_study(path) as study:
            found = {(one.candidate, one.annotator): one.rating for one in study.annotations()}
            assert len(found) == len(study.annotations())
        assert not refused and found.keys() >= confirmed.keys()
        # The last one may have been stored and not confirmed.
        later = sum(found[key] != rating for key, rating in confirmed.items())
        assert later <= 2
        # The same command serves it again.
        with served(path) as link, browser(link) as client:
            body = {**GOOD, "item": items[0], "annotator": "ana", "rating": 5}
            assert client.post("/api/annotation", json=body).status_code == 200
