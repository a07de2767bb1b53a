"""The settings of what may be sent: to scholarly sources, and to a language model."""

from pathlib import Path
from typing import Annotated, Literal

from msgspec import Struct

from citewell.options.leaf import about


class SourceOptions(Struct, frozen=True, kw_only=True):
    """Which scholarly sources may be asked over the network: none until you allow them."""

    allow: Annotated[
        tuple[str, ...],
        about(
            "Sources that may be asked, such as crossref, arxiv, or all; empty: nothing leaves "
            "this machine. [What each gives and is sent](sources.md).",
            trusted_only=True,
            closed_if_wrong=True,
        ),
    ] = ()
    ask: Annotated[
        bool, about("The editor asks once before the first online action.", trusted_only=True)
    ] = True
    contact: Annotated[
        str,
        about(
            "Your mail address, told to the sources: some then answer faster and more reliably.",
            pattern=r"(?:[^\s@<>()\\\",;:]+@[A-Za-z0-9.-]+)?",
            trusted_only=True,
        ),
    ] = ""
    search: Annotated[
        bool,
        about(
            "Searches ask the allowed sources too; of a placeholder only the words typed inside "
            "are sent.",
            trusted_only=True,
        ),
    ] = True
    cache_days: Annotated[
        float,
        about(
            "Answers are kept for so long where the source itself says nothing; 0: no answer is "
            "kept.",
            ge=0,
            le=365,
            trusted_only=True,
        ),
    ] = 7.0
    timeout_s: Annotated[
        float,
        about(
            "Seconds for one request; a later answer counts as none.",
            ge=0.1,
            le=120,
            trusted_only=True,
        ),
    ] = 20.0
    base_url: Annotated[
        str,
        about(
            "For a proxy of your own, or tests: asked as BASE/NAME/... instead of the sources.",
            pattern=r"(?:https://[^\s/@]+(?:/\S*)?"
            r"|http://(?:127\.0\.0\.1|localhost|\[::1\])(?::\d+)?(?:/\S*)?)?",
            trusted_only=True,
        ),
    ] = ""


class LlmOptions(Struct, frozen=True, kw_only=True):
    """Which language model may see the manuscript, what it is asked, and what it may cost."""

    provider: Annotated[
        Literal[
            "none", "ollama", "llamacpp", "vllm", "transformers", "openai", "anthropic", "litellm"
        ],
        about(
            "Who sees the passage around a citation: a server on this machine, a model in the "
            "process (`transformers`, needs the `neural` extra), a company, or what LiteLLM "
            "knows. [What each is sent](llm.md).",
            trusted_only=True,
            closed_if_wrong=True,
        ),
    ] = "none"
    model: Annotated[
        str,
        about(
            'The model\'s name as its provider writes it: "qwen3:8b", "claude-sonnet-4-5"; a '
            'folder or Hugging Face name for `transformers`; "groq/llama-3.3-70b" for `litellm`.',
            pattern=r"[^\s]{0,300}",
            trusted_only=True,
        ),
    ] = ""
    base_url: Annotated[
        str,
        about(
            "Address of the server, if not the usual one: http://127.0.0.1:8080/v1.",
            pattern=r"(?:https?://[^\s/@]+(?:/\S*)?)?",
            trusted_only=True,
        ),
    ] = ""
    host: Annotated[
        str,
        about(
            "The host that may see the manuscript when `llm.base_url` is not on this machine; "
            "must be the host of that address.",
            pattern=r"[A-Za-z0-9.:\[\]_-]{0,253}",
            trusted_only=True,
        ),
    ] = ""
    pick: Annotated[
        bool,
        about(
            "`fill` and “cite the best paper” let the model choose among the papers found.",
            trusted_only=True,
        ),
    ] = True
    pick_depth: Annotated[
        int, about("How many papers it chooses from.", ge=1, le=50, trusted_only=True)
    ] = 8
    pick_threshold: Annotated[
        float,
        about(
            "`fill` takes the paper that the model chose if it is at least so certain without the "
            "model; `citewell tune` says [which threshold suits your model](llm.md).",
            ge=0,
            le=1,
            trusted_only=True,
        ),
    ] = 0.15
    verify: Annotated[
        bool,
        about(
            "`fill` asks of each paper whether its abstract supports the sentence, and shows the "
            "answer; nothing depends on it.",
            trusted_only=True,
        ),
    ] = False
    rerank: Annotated[
        Literal["none", "listwise", "pointwise"],
        about(
            "How the model reorders the best papers of an explicit act (`find`, `fill`, “cite the "
            "best”): in one request, in one request per paper, or not at all.",
            trusted_only=True,
        ),
    ] = "none"
    rerank_depth: Annotated[
        int, about("How many of the best papers it reorders.", ge=2, le=50, trusted_only=True)
    ] = 10
    reformulate: Annotated[
        bool,
        about(
            "The model writes other queries for an explicit act; what they find joins the list.",
            trusted_only=True,
        ),
    ] = False
    abstract_characters: Annotated[
        int, about("How much of each abstract the model reads.", ge=0, le=5000, trusted_only=True)
    ] = 600
    timeout_ms: Annotated[
        int,
        about(
            "When the model needs longer than this, the list and the first paper stand without it.",
            ge=1,
            le=600_000,
            trusted_only=True,
        ),
    ] = 20_000
    request_tokens: Annotated[
        int,
        about(
            "Most tokens of one request, answer included; candidates beyond are left out.",
            ge=500,
            le=200_000,
            trusted_only=True,
        ),
    ] = 6000
    answer_tokens: Annotated[
        int, about("Most tokens of one answer.", ge=20, le=8000, trusted_only=True)
    ] = 300
    daily_tokens: Annotated[
        int,
        about(
            "Most tokens a day, questions and answers, of models that do not run on this "
            "machine; 0: no limit.",
            ge=0,
            le=10**12,
            trusted_only=True,
        ),
    ] = 1_000_000
    daily_cost: Annotated[
        float,
        about(
            "Most US dollars a day, by the prices known; 0: no limit.",
            ge=0,
            le=1e6,
            trusted_only=True,
        ),
    ] = 1.0
    input_price: Annotated[
        float,
        about(
            "US dollars for a million tokens of a question; 0: by the list that comes with DSPy.",
            ge=0,
            le=1e6,
            trusted_only=True,
        ),
    ] = 0.0
    output_price: Annotated[
        float,
        about(
            "US dollars for a million tokens of an answer; 0: by the list that comes with DSPy.",
            ge=0,
            le=1e6,
            trusted_only=True,
        ),
    ] = 0.0
    programs: Annotated[
        Path | None,
        about("Folder of the programs' versions; default: user data folder.", trusted_only=True),
    ] = None
    version: Annotated[
        str,
        about(
            "Version of the programs; default: the current one of each.",
            pattern=r"[A-Za-z0-9._-]{0,64}",
            trusted_only=True,
        ),
    ] = ""
