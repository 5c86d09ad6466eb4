"""Posts and settings that the builder of BestAnswer refuses, by name and reason."""

from pathlib import Path

import pytest
from forum_posts import make_posts, write_posts

from long_context_tasks.benchmarks.ada_leval import build
from long_context_tasks.benchmarks.ada_leval.build.bestanswer import BestAnswerSettings
from long_context_tasks.benchmarks.catalogue import card
from long_context_tasks.schema import InputError
from long_context_tasks.tokens import get_tokenizer

FAMILY = "ada_leval_bestanswer"
CARD = card("ada_leval").tasks["bestanswer"]
count = get_tokenizer("cl100k").count


def failure(folder: Path, posts: list[dict] | Path, **options) -> str:
    source = posts if isinstance(posts, Path) else write_posts(folder, posts)
    with pytest.raises(InputError) as caught:
        build.build(
            FAMILY, source, BestAnswerSettings(**{"lengths": (1000,), **options}), folder / "out" / FAMILY
        )
    assert not list((folder / "out").glob("*"))
    return str(caught.value)


def test_no_accepted_answers(tmp_path):
    posts = make_posts(5, 30)
    for post in posts:
        post.pop("AcceptedAnswerId", None)
    message = failure(tmp_path, posts)
    assert "Posts.jsonl" in message and "AcceptedAnswerId" in message and "Use a whole dump" in message


def test_too_small_a_dump_names_lengths_and_reasons(tmp_path):
    message = failure(tmp_path, make_posts(5, 40), lengths=(1000, 16000))
    assert all(
        piece in message
        for piece in ("Posts.jsonl", "1k, 16k", "tokens in all", "too few answers", "Leave out")
    )


def test_questions_without_tags_and_unknown_tags(tmp_path):
    posts = make_posts(5, 40)
    assert "'t99'" in failure(tmp_path, posts, tags=("t1", "t99"))
    for post in posts:
        post.pop("Tags", None)
    assert "tags" in failure(tmp_path, posts)


def test_truncated_file_names_the_line(tmp_path):
    path = tmp_path / "Posts.xml"
    row = '<row Id="{}" PostTypeId="1" Tags="&lt;a&gt;" Body="x" CreationDate="2015-01-01T00:00:00.000" />\n'
    path.write_text("<posts>\n" + row.format(1) + row.format(2)[:40], encoding="utf-8")
    message = failure(tmp_path, path)
    assert "Posts.xml, line 3" in message


def test_missing_file(tmp_path):
    assert "no such file" in failure(tmp_path, tmp_path / "nothing.xml")


def test_nothing_is_left_when_building_breaks(tmp_path, monkeypatch):
    from long_context_tasks.benchmarks.ada_leval.build import bestanswer as bestanswer_builder

    def broken(*_):
        raise RuntimeError("broken")

    monkeypatch.setattr(bestanswer_builder.CaseMaker, "make", broken)
    source = write_posts(tmp_path, make_posts(5, 300))
    with pytest.raises(RuntimeError):
        build.build(FAMILY, source, BestAnswerSettings((1000,)), tmp_path / "out" / FAMILY)
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"bounds": "odd"}, "--bounds"),
        ({"tags": 0}, "--tags"),
        ({"questions_per_tag": 0}, "--questions-per-tag"),
        ({"shared_tags": 1.5}, "--shared-tags"),
        ({"min_fill": 0.0}, "--min-fill"),
    ],
)
def test_bad_settings(options, words):
    with pytest.raises(InputError, match=words):
        BestAnswerSettings((1000,), **options)
