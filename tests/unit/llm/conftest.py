"""A model that says what the test tells it to, in place of a real one."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from citewell.llm.account import Account
from citewell.llm.assistant import LanguageModel
from citewell.llm.providers import endpoint_of
from citewell.model import Author, Query, Work
from citewell.options.online import LlmOptions


@pytest.fixture(autouse=True)
def data_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("CITEWELL_DATA", str(tmp_path / "data"))
    return tmp_path / "data"


@pytest.fixture
def works() -> list[Work]:
    return [
        Work(
            id=f"t:{n}",
            title=title,
            authors=(Author("Vaswani"), Author("Shazeer")),
            year=2017,
            abstract=f"We propose {title.lower()} and show that it works well on two tasks.",
        )
        for n, title in enumerate(
            ("Attention networks", "Graph convolutions", "Speech synthesis", "Tree parsing"), 1
        )
    ]


@pytest.fixture
def query() -> Query:
    return Query(
        sentence="Graph convolutions are widely used [CITATION].",
        before=("We study graphs.",),
        section="Related work",
    )


@pytest.fixture
def assistant(tmp_path: Path) -> Callable[..., LanguageModel]:
    """A model over DSPy's own dummy, which gives the answers in turn."""

    def make(answers: list[dict[str, Any]], **settings: Any) -> LanguageModel:
        dspy = pytest.importorskip("dspy")
        from dspy.utils import DummyLM

        options = LlmOptions(provider="ollama", model="dummy", **settings)
        endpoint = endpoint_of(options)
        assert endpoint is not None
        account = Account(path=tmp_path / "usage.sqlite")
        adapter = dspy.JSONAdapter(use_native_function_calling=False)
        return LanguageModel(
            options, endpoint, account, lambda: DummyLM(list(answers), adapter=adapter)
        )

    return make
