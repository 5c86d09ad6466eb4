"""Two annotators and two rounds with a real POTATO server, where its command is on the PATH (`pip install potato-annotation==2.12.1`)."""

import html
import json
import re
import shutil
import socket
import subprocess
import time
import urllib.error
import urllib.parse
import urllib.request
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from http.cookiejar import CookieJar
from pathlib import Path

import pytest
from annotation_study import make_study

from long_context_tasks.annotation import AnnotationStudy, load_scale
from long_context_tasks.annotation.potato import export_potato, import_potato, item_id
from long_context_tasks.annotation.scale import SHIPPED
from long_context_tasks.annotation.study import ExpertReview, Incoming

POTATO = shutil.which("potato")
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(POTATO is None, reason="no command potato (pip install potato-annotation==2.12.1)"),
]


@contextmanager
def served(project: Path) -> Iterator[str]:
    """POTATO with a project, until it can be reached."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    words = [str(POTATO), "start", "config.yaml", "-p", str(port)]
    with (project.parent / "potato.log").open("w") as log:
        server = subprocess.Popen(words, cwd=project, stdout=log, stderr=subprocess.STDOUT)
    try:
        for _ in range(600):
            try:
                urllib.request.urlopen(f"http://127.0.0.1:{port}/").close()
                break
            except urllib.error.URLError:
                assert server.poll() is None, (project.parent / "potato.log").read_text()
                time.sleep(0.1)
        yield f"http://127.0.0.1:{port}"
    finally:
        server.kill()
        server.wait()


class Annotator:
    """A person at the pages of a server."""

    def __init__(self, url: str, name: str) -> None:
        cookies = urllib.request.HTTPCookieProcessor(CookieJar())
        self._url, self._opener = url, urllib.request.build_opener(cookies)
        form = urllib.parse.urlencode({"action": "login", "email": name, "pass": ""}).encode()
        self._opener.open(f"{url}/auth", form).close()

    def page(self) -> str:
        with self._opener.open(f"{self._url}/annotate") as reply:
            return str(reply.read().decode())

    def send(self, path: str, **content: object) -> None:
        head = {"Content-Type": "application/json"}
        request = urllib.request.Request(f"{self._url}/{path}", json.dumps(content).encode(), head)
        self._opener.open(request).close()

    def rate(self, item: str, rating: int | None) -> None:
        answers = {} if rating is None else {f"rating:{rating}": str(rating)}
        self.send("updateinstance", instance_id=item, annotations=answers, cleared_schemas=["rating"])

    def rate_all(self, most: int = 20) -> list[str]:
        """Rate items until there are no more; their ids."""
        items: list[str] = []
        while len(items) < most and (
            found := re.search(r'id="instance_id"[^>]*value="([^"]*)"', self.page())
        ):
            items.append(html.unescape(found[1]))
            self.rate(items[-1], 1 + len(items) % 5)
            self.send("annotate", action="next_instance", instance_id=items[-1])
        return items


@pytest.mark.parametrize("scale", SHIPPED)
def test_every_setting_is_one_of_potato(tmp_path: Path, scale: str) -> None:
    export_potato(make_study(tmp_path / "s.json", scale), tmp_path / "p", 2)
    words = [str(POTATO), "validate", str(tmp_path / "p" / "config.yaml"), "--strict"]
    done = subprocess.run(words, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout


def test_two_rounds_lose_and_repeat_nothing(study: AnnotationStudy, tmp_path: Path) -> None:
    project = tmp_path / "p"
    export_potato(study, project, 2)
    with served(project) as url:
        ana, ben = Annotator(url, "ana"), Annotator(url, "ben")
        page = ana.page()
        assert load_scale().steps[0].text in page and "large/x" not in page
        seen = {"ana": ana.rate_all(), "ben": ben.rate_all(3)}
        ben.rate(seen["ben"][0], None)
    assert len(seen["ana"]) == 6 and len(set(seen["ben"])) == 3
    first = import_potato(project, study)
    assert Counter(one.annotator for one in first.annotations) == {"ana": 6, "ben": 2}
    assert all(one.at for one in first.annotations)
    [(withdrawn, name)] = first.withdrawn
    assert (item_id(withdrawn), name) == (seen["ben"][0], "ben")
    study.annotate(first.annotations)

    study.review([ExpertReview(question_id="q2", decision="correct", reference="Another")], "eva")
    study.add([Incoming(study.questions()[1], ((None, "small", "new"),), "row")])
    assert export_potato(study, project) == 5
    with served(project) as url:
        again = Annotator(url, "ana").rate_all()
        Annotator(url, "ben").rate_all()
    # POTATO begins with the item where a person stopped, with the answer.
    assert {item_id("q2@2/small")} <= set(again) <= {item_id("q2@2/small"), seen["ana"][-1]}
    second = import_potato(project, study)
    counts = Counter(one.candidate for one in second.annotations)
    current = {candidate.id for candidate in study.candidates(current=True)}
    # Whoever takes an answer back has to go back to the item to answer it again.
    assert {counts[key] for key in current - {withdrawn}} == {2}
    assert {one.candidate for one in first.annotations} <= set(counts)
