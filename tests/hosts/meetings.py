"""Tasks on two invented meetings, and a judge of the answers: for the tests of both hosts."""

import pytest

QA, TALK = "elitr_bench_qa_dev", "elitr_bench_qa_dev_multiturn"


def name_judge(monkeypatch: pytest.MonkeyPatch, url: str, **more: str) -> None:
    settings = {"MODEL": "stub", "BASE_URL": url, "ASKS": "1", "RETRIES": "0", **more}
    for name, value in settings.items():
        monkeypatch.setenv(f"LCT_JUDGE_{name}", value)
