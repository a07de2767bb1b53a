"""Where a language model is named, its choice is told as its own; where it fails, the ranker's."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from citewell.engine.local import LocalEngine
from citewell.options import Options
from citewell.options.online import LlmOptions

PASSAGE = "Graph attention networks weigh neighbours [CITATION]."
SENTENCE = "Recurrent networks are not needed for translation."


@pytest.fixture
def model(chat: Any) -> Iterator[Any]:
    server = chat.ChatServer(lambda request: chat.Reply('{"choice": "2", "reason": "It fits."}'))
    yield server
    server.close()


@pytest.fixture
def asked_model(
    paper_options: Options, client_of: Any, model: Any, tmp_path: Path, monkeypatch: Any
) -> Iterator[Any]:
    """A client of a server whose user named a model."""
    pytest.importorskip("dspy")
    monkeypatch.setenv("CITEWELL_DATA", str(tmp_path / "data"))
    llm = LlmOptions(provider="llamacpp", model="scripted", base_url=model.url, pick_threshold=0.0)
    options = replace(paper_options, llm=llm)
    engine = LocalEngine.open(options)
    yield client_of(options, engine)
    engine.close()


def test_without_a_model_the_first_stands_and_it_is_said(client: Any) -> None:
    for body in ({"text": PASSAGE}, {"text": PASSAGE, "candidates": ["fx:1", "fx:5"]}):
        found = client.post("/v1/pick", json=body).json()
        assert (found["status"], found["by"]) == ("ranked", "ranker")
        assert found["paper"] == found["candidates"][0]
        assert found["problems"][0]["code"] == "llm-off"
    assert found["paper"]["id"] == "fx:1"


def test_without_a_model_support_is_not_checked(client: Any) -> None:
    found = client.post("/v1/verify", json={"sentence": SENTENCE, "id": "fx:1"}).json()
    assert found["status"] == "not_checked" and "verdict" not in found
    assert found["problems"][0]["code"] == "llm-off"
    assert found["paper"]["id"] == "fx:1"


@pytest.mark.parametrize(
    ("path", "body", "code"),
    [
        ("/v1/pick", {"text": PASSAGE, "candidates": ["fx:1", "fx:none"]}, "record-unknown"),
        ("/v1/verify", {"sentence": SENTENCE, "id": "fx:none"}, "record-unknown"),
    ],
)
def test_what_cannot_be_asked_is_refused(
    client: Any, problem: Any, path: str, body: Any, code: str
) -> None:
    assert problem(client.post(path, json=body))[1] == code


def test_the_models_choice_is_told_as_its_own(asked_model: Any, model: Any, chat: Any) -> None:
    candidates = ["fx:1", "fx:5", "fx:8"]
    body = {"text": PASSAGE, "candidates": candidates}
    found = asked_model.post("/v1/pick", json=body).json()
    assert (found["status"], found["by"], found["paper"]["id"]) == ("chosen", "model", "fx:5")
    assert found["reason"] == "It fits." and found["program"] == "pick@builtin"
    assert [one["id"] for one in found["candidates"]] == ["fx:5", "fx:1", "fx:8"]
    (place,) = asked_model.post("/v1/find", json={"text": PASSAGE}).json()["places"]
    assert place["pick"] == place["papers"][0]["id"]
    assert place["chosen"] == "chosen by llamacpp scripted (pick@builtin): “It fits.”"
    model.script = lambda request: chat.Reply('{"choice": "none", "reason": "No."}')
    none = asked_model.post("/v1/pick", json=body).json()
    assert (none["status"], none["reason"], "paper" in none) == ("none_fits", "No.", False)
    (place,) = asked_model.post("/v1/find", json={"text": PASSAGE}).json()["places"]
    assert "pick" not in place and place["chosen"].startswith("none fits, ")
    before = len(model.requests)
    (place,) = asked_model.post("/v1/find", json={"text": PASSAGE, "choose": False}).json()[
        "places"
    ]
    assert "chosen" not in place and len(model.requests) == before


def test_without_choose_nothing_is_sent_to_the_model(
    paper_options: Options, client_of: Any, model: Any, tmp_path: Path, monkeypatch: Any
) -> None:
    pytest.importorskip("dspy")
    monkeypatch.setenv("CITEWELL_DATA", str(tmp_path / "data"))
    llm = LlmOptions(
        provider="llamacpp", model="scripted", base_url=model.url, daily_tokens=0, daily_cost=0.0,
        rerank="listwise", reformulate=True, verify=True,
    )  # fmt: skip
    options = replace(paper_options, llm=llm)
    engine = LocalEngine.open(options)
    client = client_of(options, engine)
    document = {"path": "main.md", "text": "Attention [@?attention] helps.", "threshold": 0}
    question = {"query": "attention in translation", "overview": True}
    bodies: list[tuple[str, dict[str, Any]]] = [
        ("find", {"text": PASSAGE}), ("find", {"queries": ["attention", "graphs"]}),
        ("fill", document), ("explore", question),
    ]  # fmt: skip
    for name, body in bodies:
        assert client.post(f"/v1/{name}", json={**body, "choose": False}).status_code == 200
        assert not model.requests, name
    for name, body in bodies:
        assert client.post(f"/v1/{name}", json=body).status_code == 200
        assert model.requests, f"{name} asks it by default"
        model.requests.clear()
    engine.close()


def test_the_model_chooses_from_its_own_number_of_papers(asked_model: Any, model: Any) -> None:
    for k in (1, 2, 12):
        (place,) = asked_model.post("/v1/find", json={"text": PASSAGE, "k": k}).json()["places"]
        assert len(place["papers"]) == k
        assert "[8]" in str(model.requests[-1]) and "[9]" not in str(model.requests[-1])
    assert asked_model.post("/v1/pick", json={"text": PASSAGE, "k": 2}).json()["of"] == 8


@pytest.mark.parametrize("choice", ["2", "none"])
def test_what_the_model_says_is_quoted_and_names_nothing_else(
    asked_model: Any, model: Any, chat: Any, choice: str
) -> None:
    reply = json.dumps({"choice": choice, "reason": chat.INJECTION})
    model.script = lambda request: chat.Reply(reply)
    body = {"text": PASSAGE, "candidates": ["fx:1", "fx:5", "fx:8"]}
    reason = asked_model.post("/v1/pick", json=body).json()["reason"]
    (place,) = asked_model.post("/v1/find", json={"text": PASSAGE}).json()["places"]
    document = {"path": "main.tex", "text": PASSAGE}
    (one,) = asked_model.post("/v1/fill", json=document).json()["placeholders"]
    assert reason.startswith("Ignore the list.") and len(reason) <= 200
    assert place["chosen"].endswith(f": “{reason}”")
    assert f"“{reason}”" in (one["reason"] if choice == "none" else one["chosen"])
    for text in (reason, place["chosen"], one.get("chosen", ""), one.get("reason", "")):
        assert not [leak for leak in chat.LEAKS if leak in text]


def test_a_model_that_is_away_costs_its_choice_alone(asked_model: Any, model: Any) -> None:
    model.close()
    body = {"text": PASSAGE, "candidates": ["fx:1", "fx:5"]}
    found = asked_model.post("/v1/pick", json=body).json()
    assert (found["status"], found["paper"]["id"]) == ("ranked", "fx:1")
    assert found["problems"][0]["code"].startswith("llm-")
    judged = asked_model.post("/v1/verify", json={"sentence": SENTENCE, "id": "fx:1"}).json()
    assert judged["status"] == "not_checked" and "verdict" not in judged


def test_support_comes_with_the_abstracts_own_words(
    asked_model: Any, model: Any, chat: Any
) -> None:
    body = {"sentence": SENTENCE, "id": "fx:1"}
    words = "uses only attention and no recurrence or convolution"

    def verify_reply(verdict: str, words: str) -> Any:
        answer = json.dumps({"supports": verdict, "words": words})
        model.script = lambda request: chat.Reply(answer)
        return asked_model.post("/v1/verify", json=body).json()

    found = verify_reply("yes", words)
    assert found["status"] == "answered", found["problems"]
    assert (found["verdict"], found["words"]) == ("yes", words)
    assert words in found["paper"]["abstract"]
    assert found["note"].endswith("read the paper.")
    assert verify_reply("no", words)["verdict"] == "no"
    assert verify_reply("unclear", "")["verdict"] == "unclear"
    # Words that do not stand in the abstract are none of its words.
    invented = verify_reply("yes", "Smith et al. show the contrary")
    assert invented["verdict"] == "unclear" and "words" not in invented
