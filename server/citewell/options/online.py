"""The settings that control what is sent to scholarly sources and to a language model."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal

from msgspec import Meta, Struct

# The declaration of a setting: its type, its description, and its allowed layers.


def about(
    description: str,
    *,
    ge: float | None = None,
    le: float | None = None,
    pattern: str | None = None,
    trusted_only: bool = False,
    stays_inside: bool = False,
    closed_if_wrong: bool = False,
) -> Meta:
    """Metadata of a setting besides its type. The whole text must match `pattern`.

    `trusted_only`: sends data, runs a program or opens files outside the project, so it is not
    taken from a workspace file. `stays_inside`: names a file, and is taken from there only if it
    lies below the paper's folder. `closed_if_wrong`: a wrong value falls back to the default and
    not to another settings layer, so that text is never sent to a recipient that the user meant to
    replace.
    """
    constraints: dict[str, Any] = {"ge": ge, "le": le}
    if pattern is not None:
        constraints["pattern"] = rf"^(?:{pattern})\Z"
    marks = {
        "trusted_only": trusted_only,
        "stays_inside": stays_inside,
        "closed_if_wrong": closed_if_wrong,
    }
    return Meta(description=description, extra=marks, **constraints)


class SourceOptions(Struct, frozen=True, kw_only=True):
    """Scholarly sources; none is queried until you allow it."""

    allow: Annotated[
        tuple[str, ...],
        about(
            "Allowed sources, such as crossref, arxiv, or all. [What each receives](sources.md).",
            trusted_only=True,
            closed_if_wrong=True,
        ),
    ] = ()
    ask: Annotated[bool, about("Ask once before the first online action.", trusted_only=True)] = (
        True
    )
    no_offer: Annotated[
        tuple[str, ...],
        about(
            "Papers (paths) for which fetching their literature is not offered; `all`: never.",
            trusted_only=True,
        ),
    ] = ()
    contact: Annotated[
        str,
        about(
            "Your email address, sent to the sources, some of which then respond faster.",
            pattern=r"(?:[^\s@<>()\\\",;:]+@[A-Za-z0-9.-]+)?",
            trusted_only=True,
        ),
    ] = ""
    search: Annotated[
        bool,
        about(
            "Also search the allowed sources; only the words typed in a placeholder are sent.",
            trusted_only=True,
        ),
    ] = True
    keep: Annotated[
        bool,
        about(
            "Keep records of sources that you cite in the library `accepted`. "
            "[More](sources.md#accepted-records).",
            trusted_only=True,
        ),
    ] = True
    cache_days: Annotated[
        float,
        about(
            "How long answers are cached if the source does not say; 0: no caching.",
            ge=0,
            le=365,
            trusted_only=True,
        ),
    ] = 7.0
    timeout_s: Annotated[
        float, about("Time limit for one request in seconds.", ge=0.1, le=120, trusted_only=True)
    ] = 20.0
    base_url: Annotated[
        str,
        about(
            "Base URL of your own proxy, called as BASE/NAME/... instead of the sources.",
            pattern=r"(?:https://[^\s/@]+(?:/\S*)?"
            r"|http://(?:127\.0\.0\.1|localhost|\[::1\])(?::\d+)?(?:/\S*)?)?",
            trusted_only=True,
        ),
    ] = ""


class LlmOptions(Struct, frozen=True, kw_only=True):
    """The language model: provider, tasks and limits."""

    provider: Annotated[
        Literal[
            "none", "ollama", "llamacpp", "vllm", "transformers", "openai", "anthropic", "litellm"
        ],
        about(
            "Provider of the language model, which receives the passage around a citation. "
            "[More](llm.md).",
            trusted_only=True,
            closed_if_wrong=True,
        ),
    ] = "none"
    model: Annotated[
        str,
        about(
            'The provider\'s name of the model: "qwen3:8b"; a folder or Hugging Face name for '
            '`transformers`; "groq/llama-3.3-70b" for `litellm`.',
            pattern=r"[^\s]{0,300}",
            trusted_only=True,
        ),
    ] = ""
    base_url: Annotated[
        str,
        about(
            "URL of the server, such as http://127.0.0.1:8080/v1; default: the provider's.",
            pattern=r"(?:https?://[^\s/@]+(?:/\S*)?)?",
            trusted_only=True,
        ),
    ] = ""
    host: Annotated[
        str,
        about(
            "Host that may receive the manuscript; must be that of `llm.base_url`, if not this "
            "machine.",
            pattern=r"[A-Za-z0-9.:\[\]_-]{0,253}",
            trusted_only=True,
        ),
    ] = ""
    pick: Annotated[
        bool,
        about(
            "Let the model choose among the papers found, in `fill` and “cite the best paper”.",
            trusted_only=True,
        ),
    ] = True
    pick_depth: Annotated[
        int, about("Number of papers that the model chooses from.", ge=1, le=50, trusted_only=True)
    ] = 8
    pick_threshold: Annotated[
        float,
        about(
            "Minimum confidence of the ranker in the model's choice; `citewell tune` finds "
            "[the best value for your model](llm.md).",
            ge=0,
            le=1,
            trusted_only=True,
        ),
    ] = 0.15
    verify: Annotated[
        bool,
        about(
            "Show in `fill` whether the model finds each sentence supported by the abstract.",
            trusted_only=True,
        ),
    ] = False
    rerank: Annotated[
        Literal["none", "listwise"],
        about(
            "Let the model rerank the best papers of an explicit search in one request.",
            trusted_only=True,
        ),
    ] = "none"
    rerank_depth: Annotated[
        int, about("Number of papers that the model reranks.", ge=2, le=50, trusted_only=True)
    ] = 10
    reformulate: Annotated[
        bool,
        about(
            "Let the model write additional queries for an explicit search.",
            trusted_only=True,
        ),
    ] = False
    explore: Annotated[
        bool,
        about(
            "Let the model read the question, write queries and the overview in `explore`.",
            trusted_only=True,
        ),
    ] = True
    abstract_characters: Annotated[
        int,
        about(
            "Number of characters of each abstract that the model reads.",
            ge=0,
            le=5000,
            trusted_only=True,
        ),
    ] = 600
    timeout_ms: Annotated[
        int,
        about(
            "Time limit for the model in ms; a late answer is left out.",
            ge=1,
            le=600_000,
            trusted_only=True,
        ),
    ] = 20_000
    request_tokens: Annotated[
        int,
        about(
            "Maximum tokens of a request and its answer; further candidates are left out.",
            ge=500,
            le=200_000,
            trusted_only=True,
        ),
    ] = 6000
    answer_tokens: Annotated[
        int, about("Maximum tokens of one answer.", ge=20, le=8000, trusted_only=True)
    ] = 300
    daily_tokens: Annotated[
        int,
        about(
            "Maximum tokens per day, for models on other machines; 0: no limit.",
            ge=0,
            le=10**12,
            trusted_only=True,
        ),
    ] = 1_000_000
    daily_cost: Annotated[
        float,
        about(
            "Maximum US dollars per day, at known prices; 0: no limit.",
            ge=0,
            le=1e6,
            trusted_only=True,
        ),
    ] = 1.0
    input_price: Annotated[
        float,
        about(
            "US dollars per million input tokens; 0: the price list of DSPy.",
            ge=0,
            le=1e6,
            trusted_only=True,
        ),
    ] = 0.0
    output_price: Annotated[
        float,
        about(
            "US dollars per million output tokens; 0: the price list of DSPy.",
            ge=0,
            le=1e6,
            trusted_only=True,
        ),
    ] = 0.0
    programs: Annotated[
        Path | None,
        about("Folder of prompt versions; default: the user data folder.", trusted_only=True),
    ] = None
    version: Annotated[
        str,
        about(
            "Prompt version; default: the current one of each program.",
            pattern=r"[A-Za-z0-9._-]{0,64}",
            trusted_only=True,
        ),
    ] = ""
