"""The settings tree. Snake case here, camelCase only at the wire (editor settings).

Every leaf has a default and a metadata "help" that the docs and the editors' schemas repeat, and
may have bounds (`at_least`, `at_most`), a `pattern`, and `trusted_only`: a setting that sends data,
runs a program or opens files outside the project is not taken from a workspace file, because such
a file travels with other people's manuscripts. One that names a file (`stays_inside`) is taken from
there only if it names one below the folder of the paper.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

from attrs import field, frozen


def _leaf(
    default: Any,
    text: str,
    *,
    at_least: float | None = None,
    at_most: float | None = None,
    pattern: str = "",
    trusted_only: bool = False,
    stays_inside: bool = False,
    closed_if_wrong: bool = False,
) -> Any:
    metadata = {
        "help": text,
        "stays_inside": stays_inside,
        "at_least": at_least,
        "at_most": at_most,
        "pattern": pattern,
        "trusted_only": trusted_only,
        "closed_if_wrong": closed_if_wrong,
    }
    return field(default=default, metadata=metadata)


def _list(
    text: str,
    *,
    item_pattern: str = "",
    item_words: str = "",
    trusted_only: bool = False,
    closed_if_wrong: bool = False,
) -> Any:
    """`item_pattern` must match each text of the list; `item_words` say what such a text is."""
    metadata = {
        "help": text,
        "item_pattern": item_pattern,
        "item_words": item_words,
        "trusted_only": trusted_only,
        "closed_if_wrong": closed_if_wrong,
    }
    return field(factory=tuple, metadata=metadata)


def _switch(text: str) -> Any:
    """A part of what the editor is offered; not set, it is on where no other tool has it."""
    return _leaf(None, f"{text} Not set: on, except for what `features.coexist` leaves to another.")


@frozen(kw_only=True)
class LibraryOptions:
    """Which library of papers answers."""

    path: Path | None = _leaf(  # noqa: RUF009 - attrs reads the field, it is no default
        None, "Folder that holds the libraries; default: user data folder.", trusted_only=True
    )
    name: str = _leaf(
        "default", "Name of the library to search.", pattern=r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}"
    )


@frozen(kw_only=True)
class RetrievalOptions:
    """How candidates are found and fused."""

    bm25: bool = _leaf(True, "Search words with BM25.")
    dense: bool = _leaf(True, "Search meaning with dense vectors.")
    encoder: str = _leaf(
        "static",
        'Encoder of the dense vectors: "static", "onnx", or a Hugging Face model such as '
        '"intfloat/e5-small-v2" (needs the `neural` extra).',
        trusted_only=True,
    )
    cited: bool = _leaf(
        True, "Search by how others cite: needs the static encoder, whose vectors the priors use."
    )
    ranker: Literal["learned", "none"] = _leaf(
        "learned", "What orders the candidates: the trained ranker, or the fusion alone."
    )
    cross_encoder: str = _leaf(
        "",
        "A cross-encoder that reads the best papers of an explicit search (hover, code actions, "
        '`find`, `fill`): a folder, or a Hugging Face name such as "cross-encoder/'
        'ms-marco-MiniLM-L6-v2". ONNX files need the `onnx` extra, others `neural`.',
        trusted_only=True,
    )
    cross_encoder_depth: int = _leaf(
        30, "How many of the best papers the cross-encoder reads.", at_least=2, at_most=200
    )
    cross_encoder_ms: int = _leaf(
        2000,
        "When the cross-encoder needs longer than this, the list stands without it.",
        at_least=1,
        at_most=600_000,
    )
    reformulate: Literal["none", "rules"] = _leaf(
        "none",
        "Also search by the passage's most specific words and with its acronyms written out; what "
        "these find joins the candidates.",
    )
    fusion: Literal["rrf", "max"] = _leaf("rrf", "How the lists are fused.")
    rrf_k: int = _leaf(60, "The constant k of reciprocal rank fusion.", at_least=0, at_most=100_000)
    depth: int = _leaf(
        400,
        "How many candidates each retriever gives to the fusion.",
        at_least=1,
        at_most=10_000,
    )
    timeout_ms: int = _leaf(
        2000,
        "A retriever that is later than this is left out of the answer.",
        at_least=1,
        at_most=600_000,
    )


@frozen(kw_only=True)
class CompletionOptions:
    """What the completion list holds."""

    limit: int = _leaf(20, "Number of papers offered for a placeholder.", at_least=1, at_most=200)
    key_limit: int = _leaf(
        50, "Number of keys offered inside a citation.", at_least=1, at_most=1000
    )


@frozen(kw_only=True)
class DocumentOptions:
    """What counts as a citation and as a placeholder."""

    cite_commands: tuple[str, ...] = _list(
        "Further LaTeX cite commands, without backslash.",
        item_pattern=r"\\?[A-Za-z@À-ɏ]+(?:#[1-9])?",
        item_words='the name of a command in letters, such as "mycite" (or "mycite#2", where its '
        "second argument holds the keys)",
    )
    placeholders: tuple[str, ...] = _list(
        "Further literal stand-ins for a citation.",
        item_pattern=r"\S(?:[^\r\n]{0,98}\S)",
        item_words='at least two characters on one line, such as "XXCITE", without blanks around',
    )
    default_command: str = _leaf(
        "",
        "Cite command for a marker; default: the document's own most used.",
        pattern=r"[A-Za-z@]*\*?",
    )


@frozen(kw_only=True)
class BibOptions:
    """How entries are written."""

    key_pattern: str = _leaf("{author}{year}{word}", "Pattern of new citation keys.")
    target: str = _leaf(
        "", "The .bib that takes new entries; default: the first one declared.", stays_inside=True
    )
    abstract: bool = _leaf(False, "Write the abstract into new entries.")
    save: bool = _leaf(
        False,
        "Save the .bib when a completion is accepted, unless the editor has it open: its new entry "
        "is then on the disk at once. Undo takes back the citation only.",
    )


DiagnosticLevel = Literal["error", "warning", "information", "hint", "off"]


@frozen(kw_only=True)
class DiagnosticsOptions:
    """What the editor underlines."""

    enabled: bool = _leaf(True, "Underline what is wrong with citations and entries.")
    severity: dict[str, DiagnosticLevel] = field(
        factory=dict,
        metadata={
            "help": "How loud a code is, by code or by the beginning of some (`author`): "
            '`{"unused-entry": "off", "missing-field": "hint"}`. The codes are in diagnostics.md.'
        },
    )
    delay_ms: int = _leaf(
        300, "How long nothing must be typed before a file is checked.", at_least=0, at_most=60_000
    )
    verification: Literal["all", "cited", "off"] = _leaf(
        "all",
        "Which entries are looked up to see whether they are real and right: those of open .bib "
        "files and those that open documents cite, only the latter, or none.",
    )
    list_not_found: bool = _leaf(
        False,
        "Underline each entry that the library lacks. Otherwise a hint on the first one of a file "
        "says how many there are.",
    )


@frozen(kw_only=True)
class FeatureOptions:
    """What the editor is offered: each part can be turned off, or left to another tool beside."""

    coexist: Literal["none", "texlab", "latexWorkshop"] = _leaf(
        "none",
        "Another tool that serves LaTeX and .bib files: what it does is left to it there, unless a "
        "switch below says otherwise; Markdown keeps everything. [What remains](editors.md).",
    )
    complete_keys: bool | None = _switch("Complete the keys of your own entries inside a citation.")
    complete_papers: bool | None = _switch(
        "Complete placeholders: papers for the words that you type."
    )
    complete_bib: bool | None = _switch("Complete entry types, fields and values inside a .bib.")
    complete_paths: bool | None = _switch("Complete the names of .bib files in the document.")
    hover_keys: bool | None = _switch("Show the reference of a key, and of an entry.")
    hover_placeholders: bool | None = _switch("Show the best papers for a placeholder.")
    definition: bool | None = _switch("Go from a key to its entry.")
    references: bool | None = _switch("List the places that cite a key.")
    highlights: bool | None = _switch("Mark the other places of the key under the cursor.")
    rename: bool | None = _switch("Rename a key in every file.")
    symbols: bool | None = _switch("List the entries of a .bib as its outline.")
    workspace_symbols: bool | None = _switch("Find entries of the workspace by name.")
    folding: bool | None = _switch("Fold entries and fields of a .bib.")
    formatting: bool | None = _switch("Lay the entries of a .bib out.")
    links: bool | None = _switch("Open DOIs, addresses and files that are named.")
    code_actions: bool | None = _switch("Offer fixes, entries and papers to cite.")
    semantic_tokens: bool | None = _switch("Colour keys by what is known of them.")


@frozen(kw_only=True)
class HoverOptions:
    """What the card of a reference shows."""

    style: str = _leaf(
        "apa",
        'Citation style (CSL) of the reference: "apa", "harvard-cite-them-right", a .csl file '
        "beside the paper, or any name of the CSL repository (needs the `styles` extra).",
        stays_inside=True,
    )
    abstract: bool = _leaf(True, "Show the abstract.")


@frozen(kw_only=True)
class InlayOptions:
    """What is shown within the text, beside what the author wrote."""

    citations: bool = _leaf(True, "Show author and year beside each cited key.")
    verification: bool = _leaf(True, "Show beside each .bib entry what the check found.")


@frozen(kw_only=True)
class LensOptions:
    """What is shown above each entry of a .bib."""

    citations: bool = _leaf(True, "Show how often the entry is cited.")
    source: bool = _leaf(True, "Show which record of the library the entry agrees with.")


@frozen(kw_only=True)
class ZoteroOptions:
    """Where Zotero with Better BibTeX answers; asked by `citewell library add zotero:`, and by the
    editor where `zotero.live` is on."""

    live: bool = _leaf(
        False,
        "Complete, hover and insert the keys of the running Zotero, without an exported file.",
        trusted_only=True,
    )
    collection: str = _leaf(
        "",
        'Of these only one collection: "NAME", or "2/NAME" in the group 2; empty: your library.',
        trusted_only=True,
    )
    format: Literal["bibtex", "biblatex"] = _leaf(
        "bibtex", "How Zotero writes the entries that go into your .bib.", trusted_only=True
    )
    refresh_s: float = _leaf(
        30.0,
        "While you cite, Zotero is asked again after so many seconds; a slow export less often.",
        at_least=1,
        at_most=86_400,
        trusted_only=True,
    )
    url: str = _leaf(
        "http://127.0.0.1:23119",
        "Address on this machine: Zotero has port 23119, Juris-M 24119.",
        pattern=r"http://(?:127\.0\.0\.1|localhost|\[::1\]):\d{1,5}",
        trusted_only=True,
    )


@frozen(kw_only=True)
class FillOptions:
    """What `citewell fill` writes without being asked."""

    unattended: bool = _leaf(
        False,
        "Fill placeholders without words of yours, too, where the best paper is as certain as "
        "`fill.threshold`. Off: they stay open, and the best papers are named.",
    )
    threshold: float = _leaf(
        0.7,
        "How certain the best paper for a placeholder without words must be to be filled "
        "unattended. [What it gives](finding.md#what-fill-dares-to-write).",
        at_least=0,
        at_most=1,
    )
    typed_threshold: float = _leaf(
        0.8,
        "How certain it must be for a placeholder with words typed in it, which say more.",
        at_least=0,
        at_most=1,
    )


@frozen(kw_only=True)
class LearningOptions:
    """What is learned from the suggestions that you accept and dismiss."""

    enabled: bool = _leaf(
        True,
        "Keep, on this machine alone, which suggestions you accept and dismiss, and order later "
        "ones by them. Off: nothing is kept or used. "
        "[What is kept, and how to erase it](learning.md).",
        trusted_only=True,
    )


@frozen(kw_only=True)
class SourceOptions:
    """Which scholarly sources may be asked over the network: none until you allow them."""

    allow: tuple[str, ...] = _list(
        "Sources that may be asked, such as crossref, arxiv, or all; empty: nothing leaves this "
        "machine. [What each gives and is sent](sources.md).",
        trusted_only=True,
        closed_if_wrong=True,
    )
    ask: bool = _leaf(
        True, "The editor asks once before the first online action.", trusted_only=True
    )
    contact: str = _leaf(
        "",
        "Your mail address, told to the sources: some then answer faster and more reliably.",
        pattern=r"(?:[^\s@<>()\\\",;:]+@[A-Za-z0-9.-]+)?",
        trusted_only=True,
    )
    search: bool = _leaf(
        True,
        "Searches ask the allowed sources too; of a placeholder only the words typed inside are "
        "sent.",
        trusted_only=True,
    )
    cache_days: float = _leaf(
        7.0,
        "Answers are kept for so long where the source itself says nothing; 0: no answer is kept.",
        at_least=0,
        at_most=365,
        trusted_only=True,
    )
    timeout_s: float = _leaf(
        20.0,
        "Seconds for one request; a later answer counts as none.",
        at_least=0.1,
        at_most=120,
        trusted_only=True,
    )
    base_url: str = _leaf(
        "",
        "For a proxy of your own, or tests: asked as BASE/NAME/... instead of the sources.",
        pattern=r"(?:https://[^\s/@]+(?:/\S*)?"
        r"|http://(?:127\.0\.0\.1|localhost|\[::1\])(?::\d+)?(?:/\S*)?)?",
        trusted_only=True,
    )


@frozen(kw_only=True)
class LlmOptions:
    """Which language model may see the manuscript, what it is asked, and what it may cost."""

    provider: Literal[
        "none", "ollama", "llamacpp", "vllm", "transformers", "openai", "anthropic", "litellm"
    ] = _leaf(
        "none",
        "Who sees the passage around a citation: a server on this machine, a model in the process "
        "(`transformers`, needs the `neural` extra), a company, or what LiteLLM knows. "
        "[What each is sent](llm.md).",
        trusted_only=True,
        closed_if_wrong=True,
    )
    model: str = _leaf(
        "",
        'The model\'s name as its provider writes it: "qwen3:8b", "claude-sonnet-4-5"; a folder or '
        'Hugging Face name for `transformers`; "groq/llama-3.3-70b" for `litellm`.',
        pattern=r"[^\s]{0,300}",
        trusted_only=True,
    )
    base_url: str = _leaf(
        "",
        "Address of the server, if not the usual one: http://127.0.0.1:8080/v1.",
        pattern=r"(?:https?://[^\s/@]+(?:/\S*)?)?",
        trusted_only=True,
    )
    host: str = _leaf(
        "",
        "The host that may see the manuscript when `llm.base_url` is not on this machine; must be "
        "the host of that address.",
        pattern=r"[A-Za-z0-9.:\[\]_-]{0,253}",
        trusted_only=True,
    )
    pick: bool = _leaf(
        True,
        "`fill` and “cite the best paper” let the model choose among the papers found.",
        trusted_only=True,
    )
    pick_depth: int = _leaf(
        8, "How many papers it chooses from.", at_least=1, at_most=50, trusted_only=True
    )
    pick_threshold: float = _leaf(
        0.15,
        "`fill` takes the paper that the model chose if it is at least so certain without the "
        "model; `citewell tune` says [which threshold suits your model](llm.md).",
        at_least=0,
        at_most=1,
        trusted_only=True,
    )
    verify: bool = _leaf(
        False,
        "`fill` asks of each paper whether its abstract supports the sentence, and shows the "
        "answer; nothing depends on it.",
        trusted_only=True,
    )
    rerank: Literal["none", "listwise", "pointwise"] = _leaf(
        "none",
        "How the model reorders the best papers of an explicit act (`find`, `fill`, “cite the "
        "best”): in one request, in one request per paper, or not at all.",
        trusted_only=True,
    )
    rerank_depth: int = _leaf(
        10, "How many of the best papers it reorders.", at_least=2, at_most=50, trusted_only=True
    )
    reformulate: bool = _leaf(
        False,
        "The model writes other queries for an explicit act; what they find joins the list.",
        trusted_only=True,
    )
    abstract_characters: int = _leaf(
        600,
        "How much of each abstract the model reads.",
        at_least=0,
        at_most=5000,
        trusted_only=True,
    )
    timeout_ms: int = _leaf(
        20_000,
        "When the model needs longer than this, the list and the first paper stand without it.",
        at_least=1,
        at_most=600_000,
        trusted_only=True,
    )
    request_tokens: int = _leaf(
        6000,
        "Most tokens of one request, answer included; candidates beyond are left out.",
        at_least=500,
        at_most=200_000,
        trusted_only=True,
    )
    answer_tokens: int = _leaf(
        300, "Most tokens of one answer.", at_least=20, at_most=8000, trusted_only=True
    )
    daily_tokens: int = _leaf(
        1_000_000,
        "Most tokens a day, questions and answers, of models that do not run on this machine; 0: "
        "no limit.",
        at_least=0,
        at_most=10**12,
        trusted_only=True,
    )
    daily_cost: float = _leaf(
        1.0,
        "Most US dollars a day, by the prices known; 0: no limit.",
        at_least=0,
        at_most=1e6,
        trusted_only=True,
    )
    input_price: float = _leaf(
        0.0,
        "US dollars for a million tokens of a question; 0: by the list that comes with DSPy.",
        at_least=0,
        at_most=1e6,
        trusted_only=True,
    )
    output_price: float = _leaf(
        0.0,
        "US dollars for a million tokens of an answer; 0: by the list that comes with DSPy.",
        at_least=0,
        at_most=1e6,
        trusted_only=True,
    )
    programs: Path | None = _leaf(  # noqa: RUF009 - attrs reads the field, it is no default
        None, "Folder of the programs' versions; default: user data folder.", trusted_only=True
    )
    version: str = _leaf(
        "",
        "Version of the programs; default: the current one of each.",
        pattern=r"[A-Za-z0-9._-]{0,64}",
        trusted_only=True,
    )


@frozen(kw_only=True)
class Options:
    """The whole tree."""

    library: LibraryOptions = field(factory=LibraryOptions)
    retrieval: RetrievalOptions = field(factory=RetrievalOptions)
    completion: CompletionOptions = field(factory=CompletionOptions)
    documents: DocumentOptions = field(factory=DocumentOptions)
    bib: BibOptions = field(factory=BibOptions)
    diagnostics: DiagnosticsOptions = field(factory=DiagnosticsOptions)
    features: FeatureOptions = field(factory=FeatureOptions)
    hover: HoverOptions = field(factory=HoverOptions)
    inlay: InlayOptions = field(factory=InlayOptions)
    lens: LensOptions = field(factory=LensOptions)
    zotero: ZoteroOptions = field(factory=ZoteroOptions)
    fill: FillOptions = field(factory=FillOptions)
    learning: LearningOptions = field(factory=LearningOptions)
    sources: SourceOptions = field(factory=SourceOptions)
    llm: LlmOptions = field(factory=LlmOptions)


TITLES = {
    "library": "Library of Papers",
    "bib": "Entries in the .bib",
    "completion": "Completion",
    "documents": "Citations and Placeholders",
    "fill": "Filling Placeholders",
    "diagnostics": "Diagnostics",
    "features": "Features",
    "hover": "Hover",
    "inlay": "Inlay Hints",
    "lens": "Code Lenses",
    "sources": "Online Sources",
    "zotero": "Zotero",
    "learning": "Learning from Use",
    "llm": "Language Model",
    "retrieval": "Search Engine",
}
"""What an editor's page of settings calls the sections, in the order of use."""
