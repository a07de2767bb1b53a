"""What a language model adds is measured part by part, and made-up papers are counted."""

import attrs
import pytest

from citewell.evaluation import methods
from citewell.evaluation.evaluate import Plan, evaluate
from citewell.evaluation.leave_one_out import questions_of
from citewell.model import CitewellError
from citewell.options.tree import LlmOptions


def test_each_part_can_be_left_out(library_options):
    on = attrs.evolve(
        library_options,
        retrieval=attrs.evolve(library_options.retrieval, reformulate="rules"),
        llm=LlmOptions(provider="vllm", model="m", rerank="listwise", reformulate=True),
    )
    names = ["without-rules", "without-llm-queries", "without-llm-order", "without-llm"]
    rules, queries, order, bare = (one.options(on) for one in methods.named(names, on))
    assert rules.retrieval.reformulate == "none" and rules.llm == on.llm
    assert not queries.llm.reformulate and queries.llm.rerank == "listwise"
    assert order.llm.rerank == "none" and order.llm.reformulate
    assert bare.llm.rerank == "none" and not bare.llm.reformulate


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
    options = attrs.evolve(
        library_options, llm=LlmOptions(provider="vllm", model="m", base_url=server.url)
    )
    made, info, _ = questions_of([paper], options.documents)
    plan = Plan(
        methods=tuple(methods.mode("llm", options)), settings=("cold",), depth=10, latency_calls=1
    )
    found = evaluate(made, options, plan, info)
    server.close()
    runs = {run.name: run for run in found.runs}
    assert list(runs) == [
        "without-llm", "llm-queries", "llm-listwise", "llm-pointwise", "llm-pick", "llm-all",
    ]  # fmt: skip
    assert all(run.unbacked == 0 and run.emitted > 0 for run in found.runs)
    # The order puts the second paper first; nothing else moves.
    plain, listwise = (
        [one.offered[:2] for one in runs[name].judged] for name in ("without-llm", "llm-listwise")
    )
    assert [pair[::-1] for pair in plain] == listwise
    assert [one.offered for one in runs["llm-pointwise"].judged] == [
        one.offered for one in runs["without-llm"].judged
    ]
