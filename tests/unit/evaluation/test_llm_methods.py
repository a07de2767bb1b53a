"""What a language model adds is measured part by part, and made-up papers are counted."""

from io import StringIO

import pytest
from click.testing import CliRunner
from msgspec.structs import replace
from rich.console import Console

from citewell.cli.app import root
from citewell.model import CitewellError
from citewell.options.online import LlmOptions
from citewell_lab.evaluation import methods, page, results, table
from citewell_lab.evaluation.evaluate import evaluate
from citewell_lab.evaluation.leave_one_out import questions_of
from citewell_lab.evaluation.methods import EvaluationPlan


def test_each_part_can_be_left_out(library_options):
    on = replace(
        library_options,
        llm=LlmOptions(provider="vllm", model="m", rerank="listwise", reformulate=True),
    )
    names = ["without-llm-queries", "without-llm-order", "without-llm"]
    found = methods.named(names, on)
    queries, order, bare = (one.options(on) for one in found)
    # What is left out is left out of an explicit act, in which the model picks.
    assert all(one.tier == "deep" for one in found)
    assert [one.picks for one in found] == [True, True, False]
    (unpicked,) = methods.named(["without-llm-pick"], on)
    assert not unpicked.picks and unpicked.options(on).llm.rerank == "listwise"
    deep = methods.known(on)["deep"]
    assert deep.picks and deep.options(on) == on
    assert not methods.known(library_options)["deep"].picks
    assert not queries.llm.reformulate and queries.llm.rerank == "listwise"
    assert order.llm.rerank == "none" and order.llm.reformulate
    assert bare.llm.rerank == "none" and not bare.llm.reformulate


def test_a_part_of_an_explicit_act_is_missed_by_an_explicit_act(
    paper, library_options, chat, tmp_path, monkeypatch
):
    pytest.importorskip("dspy")
    monkeypatch.setenv("CITEWELL_DATA", str(tmp_path))
    server = chat.ChatServer(lambda request: chat.Reply('{"choice": "2", "order": ["2"]}'))
    folder = library_options.library.path / library_options.library.name
    (tmp_path / "config.toml").touch()
    questions = [
        "--config", tmp_path / "config.toml", "--library", folder,
        "--set", "llm.provider=vllm", "--set", "llm.model=m", "--set", f"llm.base_url={server.url}",
        "--set", "llm.rerank=listwise",
        "eval", paper, "--without", "llm-order", "--without", "llm-pick", "--setting", "cold",
        "--depth", 10, "--latency-calls", 0, "--json", tmp_path / "r.json",
    ]  # fmt: skip
    done = CliRunner().invoke(root, [str(word) for word in questions])
    server.close()
    assert done.exit_code == 0, done.output
    saved = results.load(tmp_path / "r.json")
    order, pick, deep = saved.runs
    names = ["without-llm-order", "without-llm-pick", "deep"]
    assert [run.name for run in saved.runs] == names
    assert (
        deep.usage.requests
        == order.usage.requests + pick.usage.requests
        == len(server.requests) / 2
    )
    assert pick.picks is None and order.picks is not None
    assert {one.a for one in saved.comparisons} == {"deep (cold)"}


def test_the_mode_llm_wants_a_model(library_options):
    with pytest.raises(CitewellError, match=r"llm\.provider"):
        methods.mode("llm", library_options)


def test_with_and_without_each_part_the_figures_stand_side_by_side(
    paper, library_options, chat, tmp_path, monkeypatch
):
    pytest.importorskip("dspy")
    monkeypatch.setenv("CITEWELL_DATA", str(tmp_path))

    def script(request):
        last = "[2]" if "[2]" in chat.prompt_of(request) else "[1]"
        return chat.Reply(
            '{"choice": "none", "order": ["2", "99"], "fits": "partly", "queries": ["beam search"],'
            f' "reason": "{last}"' + "}"
        )

    server = chat.ChatServer(script)
    options = replace(
        library_options, llm=LlmOptions(provider="vllm", model="m", base_url=server.url)
    )
    made, info, _ = questions_of([paper], options.documents)
    plan = EvaluationPlan(
        methods=tuple(methods.mode("llm", options)), settings=("cold",), depth=10, latency_calls=1
    )
    found = evaluate(made, options, plan, info)
    server.close()
    runs = {run.name: run for run in found.runs}
    assert list(runs) == [
        "llm-queries", "llm-listwise", "llm-pick", "llm-all",
        "without-llm",
    ]  # fmt: skip
    assert all(run.unbacked == 0 and run.emitted > 0 for run in found.runs)
    # What was asked, and what its "none" was worth.
    count = len(runs["llm-pick"].judged)
    assert runs["without-llm"].usage.requests == 0
    assert runs["llm-pick"].usage.requests == runs["llm-listwise"].usage.requests == count
    assert runs["llm-pick"].usage.input_tokens == 100 * count
    picks = runs["llm-pick"].picks
    assert picks.missed + picks.declined == count and not picks.right and not picks.misled
    assert picks.missed == sum(any(r <= 8 for r in one.ranks) for one in runs["llm-pick"].judged)
    assert all(one.abstained == count for one in runs["llm-pick"].abstention)
    text = StringIO()
    Console(file=text, width=160).print(table.render(found))
    assert "Language model requests" in text.getvalue()
    assert "not shown: wrong" in text.getvalue()
    shown = page.render(found, "", own=True)
    assert "Language model requests" in shown and table.PICK_TITLE in shown
    # The order puts the second paper first; nothing else moves.
    plain, listwise = (
        [one.offered[:2] for one in runs[name].judged] for name in ("without-llm", "llm-listwise")
    )
    assert [pair[::-1] for pair in plain] == listwise
