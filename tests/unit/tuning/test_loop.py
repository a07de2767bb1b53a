"""The loop against a model behind a real loopback server that gets better with examples, or not."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("dspy")

from tests.fakes.chat import ChatServer, Reply, prompt_of

from citewell.llm import versions
from citewell.model import CitewellError, Query, Work
from citewell.options.online import LlmOptions
from citewell_corpus.processes import SilentProgress
from citewell_lab.tuning.compare_models import compare_models, named
from citewell_lab.tuning.examples import Examples, TuningExample, part_of
from citewell_lab.tuning.loop import tune
from citewell_lab.tuning.page import comparison_page, tuning_page
from citewell_lab.tuning.plan import TunePlan, Tuning

TOPICS = ("parsing", "speech", "vision", "graphs", "agents", "music", "proteins", "weather")


def examples(count: int = 96) -> Examples:
    """The right paper has the passage's topic and never stands first."""
    found = []
    for n in range(count):
        topic, place = TOPICS[n % len(TOPICS)], 1 + n % 3
        works = [
            Work(id=f"{n}:{i}", title=f"On {TOPICS[(n + 1 + i) % len(TOPICS)]}") for i in range(5)
        ]
        works[place] = Work(id=f"{n}:right", title=f"A study of {topic}")
        found.append(
            TuningExample(
                id=str(n),
                paper=f"paper {n % 24}",
                query=Query(sentence=f"Much is known about {topic} [CITATION]."),
                works=tuple(works),
                right=(place,),
                confidence=(0.4, 0.2, 0.05, 0.02, 0.01),
            )
        )
    return Examples(examples=tuple(found), questions=count, absent=0)


def learner(request: dict[str, Any]) -> Reply:
    """Chooses the first paper; once the prompt shows examples, the one of the right topic."""
    last = str(request["messages"][-1]["content"])
    topic = re.search(r"known about (\w+)", last)
    wanted = re.search(rf"\[(\d)\] A study of {topic[1]}", last) if topic else None
    shown = prompt_of(request).count("known about") > 1
    # Now and then it is right by itself, so that there are examples to begin with.
    lucky = bool(topic) and topic[1] in ("parsing", "music")
    choice = wanted[1] if wanted and (shown or lucky) else "1"
    return Reply(json.dumps({"choice": choice, "reason": "so"}))


def stubborn(request: dict[str, Any]) -> Reply:
    return Reply(json.dumps({"choice": "1", "reason": "so"}))


@pytest.fixture(autouse=True)
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("CITEWELL_DATA", str(tmp_path / "data"))
    return tmp_path / "data"


@pytest.fixture
def serve() -> Iterator[Callable[..., LlmOptions]]:
    servers = []

    def start(script: Any) -> LlmOptions:
        servers.append(ChatServer(script))
        return LlmOptions(
            provider="llamacpp", model="m", base_url=servers[-1].url, daily_tokens=0,
            abstract_characters=0,
        )  # fmt: skip

    yield start
    for server in servers:
        server.close()


def run(options: LlmOptions, count: int = 96, **plan: Any) -> Tuning:
    return tune(options, TunePlan(**plan), examples(count), SilentProgress())


def test_a_version_that_wins_by_more_than_chance_is_stored_and_used(
    serve: Callable[..., LlmOptions], data: Path
) -> None:
    options = serve(learner)
    tuning = run(options)
    (step,) = tuning.steps
    assert step.accepted and step.problem is None
    assert step.fooled > 20
    assert step.difference is not None and step.difference.low is not None
    assert step.difference.low > 0.05
    assert tuning.after["first"] == 1.0 > tuning.before["first"]
    # It is right wherever it chooses: what it says is taken however little the ranker thinks of it.
    threshold = tuning.pick_threshold
    assert threshold is not None and threshold.helps
    assert threshold.best <= 0.05 and threshold.shown_wrong == threshold.shown_none == 0
    assert threshold.test_best.right == threshold.test_best.filled == tuning.sizes["test"]
    assert "Minimum confidence of a choice" in tuning_page(tuning)
    assert tuning.ended.parent == "builtin" and tuning.ended.optimizer == "bootstrap"
    assert tuning.ended.metrics["first"] == 1.0
    assert versions.current_version("pick") == tuning.ended.version
    assert tuning.usage.requests > 100
    # What is stored is JSON, and its examples read as the model sees them.
    files = sorted(path.name for path in (data / "programs" / "pick").iterdir())
    assert files == [f"{tuning.ended.version}.json", "current.json"]
    demo = tuning.ended.demos[0]
    assert set(demo) <= {"passage", "candidates", "choice", "reason"}
    assert str(demo["candidates"]).startswith("[1] ")
    # None of the examples in the prompt is of a paper that decided or tested.
    shown = " ".join(str(demo["passage"]) for demo in tuning.ended.demos)
    assert shown.count("[CITATION]") == len(tuning.ended.demos)
    # It is good enough now.
    again = run(options)
    assert again.steps == () and again.started.version == tuning.ended.version
    assert "nothing was changed" in again.notes[0]
    assert versions.roll_back("pick") == "builtin"


def test_what_does_not_win_is_not_kept(serve: Callable[..., LlmOptions], data: Path) -> None:
    tuning = run(serve(stubborn), steps=1)
    assert [step.accepted for step in tuning.steps] == [False]
    assert tuning.ended == tuning.started
    assert not (data / "programs").exists()


def test_a_dry_run_stores_nothing_and_its_page_shows_prompts_figures_and_cost_and_runs_nothing(
    serve: Callable[..., LlmOptions], data: Path
) -> None:
    tuning = run(serve(learner), dry=True)
    assert tuning.steps[0].accepted
    assert not (data / "programs").exists()
    page = tuning_page(tuning)
    assert "default-src 'none'" in page and "<script" not in page
    # On a narrow page each row is a list: every cell names its column.
    assert page.count("<td") == page.count(" data-name=") > 0
    assert "hard negatives" in page and "accepted" in page
    assert "The prompt, before and after" in page
    assert "Much is known about" in page
    assert "Figures on the test papers" in page and "difference" in page
    assert "requests" in page and "tokens" in page


def test_a_server_that_is_down_ends_it_with_its_problem() -> None:
    options = LlmOptions(
        provider="llamacpp", model="m", base_url="http://127.0.0.1:9/v1", timeout_ms=500
    )
    with pytest.raises(CitewellError) as raised:
        run(options)
    assert raised.value.problem.code in ("llm-down", "llm-failed", "llm-late")


def test_too_few_examples_are_said(serve: Callable[..., LlmOptions]) -> None:
    few = Examples(examples=examples().examples[:6], questions=6, absent=0)
    with pytest.raises(CitewellError) as raised:
        tune(serve(stubborn), TunePlan(), few, SilentProgress())
    assert raised.value.problem.code == "tune-too-few"


@pytest.mark.nightly
@pytest.mark.parametrize("optimizer", ["mipro", "gepa"])
def test_the_other_optimizers_run_on_the_program(
    serve: Callable[..., LlmOptions], optimizer: Any
) -> None:
    if optimizer == "mipro":
        pytest.importorskip("optuna")
    some = Examples(examples=examples().examples[:48], questions=48, absent=0)

    def script(request: dict[str, Any]) -> Reply:
        question = str(request["messages"][-1]["content"]).rpartition("Respond with")[2]
        fields = re.findall(r"`(\w+)`", question)
        if "choice" in fields:
            return learner(request)
        text = "Read the topic of the passage, and choose the study of it."
        return Reply(json.dumps(dict.fromkeys(fields, text)) if fields else f"```{text}```")

    plan = TunePlan(optimizers=(optimizer,), steps=1, threshold=1.0)
    tuning = tune(serve(script), plan, some, SilentProgress())
    (step,) = tuning.steps
    assert step.problem is None and step.version is not None
    assert step.version.optimizer == optimizer


@pytest.mark.nightly
def test_the_program_that_orders_is_tuned_alike(serve: Callable[..., LlmOptions]) -> None:
    def script(request: dict[str, Any]) -> Reply:
        last = str(request["messages"][-1]["content"])
        topic = re.search(r"known about (\w+)", last)
        shown = prompt_of(request).count("known about") > 1
        wanted = re.search(rf"\[(\d)\] A study of {topic[1]}", last) if topic else None
        return Reply(json.dumps({"order": [wanted[1] if wanted and shown else "1"]}))

    tuning = run(serve(script), 48, program="rank", steps=1)
    assert tuning.steps[0].accepted
    assert tuning.after["mrr"] == 1.0


def test_models_are_compared_on_the_same_lists(serve: Callable[..., LlmOptions]) -> None:
    base = LlmOptions(abstract_characters=0, daily_tokens=0)
    urls = {name: serve(script).base_url for name, script in (("a", learner), ("b", stubborn))}
    models = [(name, named(f"llamacpp:{name}@{url}", base)) for name, url in urls.items()]
    some = examples(48).examples
    found = compare_models(models, "pick", some, SilentProgress())
    ranker, a, b = found.models
    assert (ranker.model, a.model, b.model) == ("ranker", "a", "b")
    assert b.figures == ranker.figures
    assert a.figures["mrr"].mean > ranker.figures["mrr"].mean
    assert a.gain is not None and a.gain.low is not None and a.gain.low > 0
    assert a.usage.requests == 48 and a.cost_per_thousand == 0.0
    assert 0 < a.p50 <= a.p95
    page = comparison_page(found)
    assert "<svg" in page and "<script" not in page


def test_figures_of_a_model_that_never_answers_are_not_shown_as_its_own() -> None:
    named_so = "llamacpp:away@http://127.0.0.1:9/v1"
    some = examples(8).examples
    base = LlmOptions(abstract_characters=0, daily_tokens=0)
    found = compare_models([(named_so, named(named_so, base))], "pick", some, SilentProgress())
    ranker, away = found.models
    assert ranker.answered and not away.answered
    assert away.why is not None and away.why.code == "llm-down"
    assert "LM" not in away.why.message, "a class of a package tells an author nothing"
    page = comparison_page(found)
    assert page.count("no answer") == 1 and page.count("<circle") == 1


def test_a_model_is_named_with_its_provider_and_a_foreign_host_by_its_address() -> None:
    base = LlmOptions(timeout_ms=77)
    one = named("ollama:qwen3:8b", base)
    assert (one.provider, one.model, one.timeout_ms) == ("ollama", "qwen3:8b", 77)
    far = named("vllm:big@https://gpu.lab.example/v1", base)
    assert (far.base_url, far.host) == ("https://gpu.lab.example/v1", "gpu.lab.example")
    for text in ("qwen3", "nobody:x", "ollama:"):
        with pytest.raises(CitewellError):
            named(text, base)


def test_parts_do_not_share_a_paper() -> None:
    parts = {part: {e.paper for e in examples().part(part)} for part in ("train", "valid", "test")}
    assert not parts["train"] & parts["valid"]
    assert all(part_of(paper) == name for name, papers in parts.items() for paper in papers)  # type: ignore[arg-type]


@pytest.mark.nightly
def test_trials_answer_for_a_share_and_end(serve: Callable[..., LlmOptions]) -> None:
    options = serve(learner)
    tuning = run(options)
    made = tuning.ended.version
    versions.roll_back("pick")
    versions.start_trial("pick", made, 0.5)
    from citewell.llm.assistant import LanguageModel

    model = LanguageModel.open(options)
    assert model is not None
    works = examples(1).examples[0].works
    places = [Query(sentence=f"Much is known about {n} [CITATION].") for n in range(40)]
    programs = [model.pick(place, works).program for place in places]
    model.close()
    assert set(programs) == {"pick@builtin", f"pick@{made}"}
    versions.start_trial("pick", made, 0)
    assert versions.current("pick").trial == ""
