"""The settings tree. Snake case here, camelCase only at the wire (editor settings).

Every leaf has a default, and a description that the docs and the editors' schemas repeat. Types and
constraints are those of msgspec, which converts and checks the values. Marks limit what a workspace
file may set, because it travels with other people's manuscripts.
"""

from pathlib import Path
from typing import Annotated, Literal

from msgspec import Struct

from citewell.options.online import LlmOptions, SourceOptions, about

# The settings of HTTP servers: access, rate limits, and proxies.

Origin = Annotated[
    str,
    about(
        "scheme, host and port of a web page, such as http://localhost:3000",
        pattern=r"https?://[A-Za-z0-9.:\[\]_-]{1,260}",
    ),
]
HostName = Annotated[
    str, about("a host with its port, if any", pattern=r"[A-Za-z0-9.:\[\]_-]{1,260}")
]
Network = Annotated[
    str, about("an IP address or network", pattern=r"[0-9A-Fa-f.:]{2,45}(?:/[0-9]{1,3})?")
]


class ServeOptions(Struct, frozen=True, kw_only=True):
    """Access, limits and logs of `citewell serve` and `citewell mcp --http`."""

    allow_origins: Annotated[
        tuple[Origin, ...],
        about(
            "Origins of web pages that may send requests and read the answers (CORS).",
            trusted_only=True,
        ),
    ] = ()
    allow_hosts: Annotated[
        tuple[HostName, ...],
        about(
            'Additional host names of the server, such as "cite.example.org".',
            trusted_only=True,
        ),
    ] = ()
    rate_limit: Annotated[
        int,
        about(
            "Maximum requests per minute from one client address; 0: no limit.",
            ge=0,
            le=1_000_000,
            trusted_only=True,
        ),
    ] = 0
    workers: Annotated[
        int,
        about(
            "Number of search processes; they share the library in memory.",
            ge=1,
            le=64,
            trusted_only=True,
        ),
    ] = 1
    metrics: Annotated[
        bool,
        about(
            "Answer `GET /metrics` for [Prometheus](http.md#metrics).",
            trusted_only=True,
        ),
    ] = False
    log_format: Annotated[
        Literal["text", "json"],
        about(
            'Format of the log on standard error; "json" includes a line for each request.',
            trusted_only=True,
        ),
    ] = "text"
    base_path: Annotated[
        str,
        about(
            "Path of the server behind a reverse proxy, such as /citewell.",
            pattern=r"(?:/[A-Za-z0-9._~-]{1,100}){0,10}",
            trusted_only=True,
        ),
    ] = ""
    proxies: Annotated[
        tuple[Network, ...],
        about(
            "Addresses of reverse proxies with trusted X-Forwarded-For and X-Forwarded-Proto "
            "headers.",
            trusted_only=True,
        ),
    ] = ()
    read_only: Annotated[
        bool,
        about(
            "Serve a [public demo](http.md#public-demo).",
            trusted_only=True,
        ),
    ] = False


# The settings of the editor's features.


class CompletionOptions(Struct, frozen=True, kw_only=True):
    """The completion list."""

    limit: Annotated[int, about("Number of papers listed for a placeholder.", ge=1, le=200)] = 20


DiagnosticLevel = Literal["error", "warning", "information", "hint", "off"]


class DiagnosticsOptions(Struct, frozen=True, kw_only=True):
    """Diagnostics in the editor."""

    enabled: Annotated[bool, about("Report problems with citations and entries.")] = True
    severity: Annotated[
        dict[str, DiagnosticLevel],
        about(
            "Severity by [code](diagnostics.md) or code prefix (`author`): "
            '`{"unused-entry": "off", "missing-field": "hint"}`.'
        ),
    ] = {}
    delay_ms: Annotated[
        int,
        about("Delay in ms after the last keystroke before a file is checked.", ge=0, le=60_000),
    ] = 300
    verification: Annotated[
        Literal["all", "cited", "off"],
        about(
            "Verify the entries of open .bib files and those that open documents cite, only the "
            "latter, or none."
        ),
    ] = "all"
    list_not_found: Annotated[
        bool,
        about("Report each entry that the library lacks, not only their number."),
    ] = False


Feature = Literal[
    "complete-keys",
    "complete-papers",
    "complete-bib",
    "complete-paths",
    "hover-keys",
    "hover-placeholders",
    "definition",
    "references",
    "highlights",
    "rename",
    "symbols",
    "workspace-symbols",
    "folding",
    "formatting",
    "links",
    "code-actions",
    "semantic-tokens",
]
"""Features of the editor, each with a switch."""


class FeatureOptions(Struct, frozen=True, kw_only=True):
    """Features of the editor, each with a switch."""

    coexist: Annotated[
        Literal["none", "texlab", "latexWorkshop"],
        about(
            "Another language server for LaTeX and .bib files; Citewell turns off its features, "
            "unless `features.switches` keeps them. [What remains](editors.md)."
        ),
    ] = "none"
    switches: Annotated[
        dict[Feature, bool],
        about(
            'Features that are always on or off: `{"rename": false}`. '
            "[Names](editors.md#beside-texlab-or-latex-workshop)."
        ),
    ] = {}


class HoverOptions(Struct, frozen=True, kw_only=True):
    """The card of a reference."""

    style: Annotated[
        str,
        about(
            'CSL style of references: "apa", "modern-language-association", '
            '"harvard-cite-them-right", a .csl file beside the paper, or any name of the CSL '
            "repository (needs the `styles` extra).",
            stays_inside=True,
        ),
    ] = "apa"
    abstract: Annotated[bool, about("Show the abstract.")] = True


class InlayOptions(Struct, frozen=True, kw_only=True):
    """Inlay hints in the text."""

    citations: Annotated[bool, about("Show author and year after each cited key.")] = True
    verification: Annotated[bool, about("Show the check result after each .bib entry.")] = True


class LensOptions(Struct, frozen=True, kw_only=True):
    """Code lenses above each entry of a .bib."""

    citations: Annotated[bool, about("Show how often the entry is cited.")] = True
    source: Annotated[bool, about("Show which library record matches the entry.")] = True


class PdfOptions(Struct, frozen=True, kw_only=True):
    """Reading of PDF files."""

    grobid: Annotated[
        str,
        about(
            "Address of a GROBID server that reads PDFs, such as http://localhost:8070; it "
            "receives the whole file. [More](pdf.md#grobid).",
            pattern=r"(?:https?://[^\s/@]+(?:/\S*)?)?",
            trusted_only=True,
            closed_if_wrong=True,
        ),
    ] = ""
    timeout_s: Annotated[
        float, about("Time limit for one file in seconds.", ge=1, le=3_600, trusted_only=True)
    ] = 60.0


CiteCommand = Annotated[
    str,
    about(
        'the name of a command in letters, such as "mycite" (or "mycite#2", where its '
        "second argument holds the keys)",
        pattern=r"\\?[A-Za-z@À-ɏ]+(?:#[1-9])?",
    ),
]
Marker = Annotated[
    str,
    about(
        'at least two characters on one line, such as "XXCITE", without blanks around',
        pattern=r"\S(?:[^\r\n]{0,98}\S)",
    ),
]


class LibraryOptions(Struct, frozen=True, kw_only=True):
    """The library that is searched."""

    path: Annotated[
        Path | None,
        about("Folder of the libraries; default: the user data folder.", trusted_only=True),
    ] = None
    name: Annotated[
        str, about("Name of the library to search.", pattern=r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
    ] = "default"
    starter: Annotated[bool, about("Also search the installed starter library.")] = True
    url: Annotated[
        str,
        about(
            "Back end for candidates in place of the embedded indexes: "
            "`qdrant://HOST:PORT/NAME` (TLS: `qdrants://`) or `edge:FOLDER`, written by "
            "`citewell library build --to` (extra `qdrant`).",
            trusted_only=True,
        ),
    ] = ""


class RetrievalOptions(Struct, frozen=True, kw_only=True):
    """Retrieval and ranking of candidates."""

    bm25: Annotated[bool, about("Search by words (BM25).")] = True
    dense: Annotated[
        bool,
        about(
            "Search by meaning (dense vectors); citation context and the trained ranker need it."
        ),
    ] = True
    encoders: Annotated[
        tuple[str, ...],
        about(
            'Additional encoders: "onnx", "allenai/specter2", or a Hugging Face model such as '
            '"intfloat/e5-small-v2". `citewell library build` adds their vectors. '
            "[More](finding.md#more-encoders).",
            trusted_only=True,
        ),
    ] = ()
    citation_context: Annotated[
        bool,
        about("Search by how others cite; needs `retrieval.dense`."),
    ] = True
    ranker: Annotated[
        Literal["learned", "none"],
        about("Order candidates by the trained ranker, or by fusion alone."),
    ] = "learned"
    cross_encoder: Annotated[
        str,
        about(
            "Cross-encoder that reranks the best papers of explicit searches: a folder, or a "
            'Hugging Face name such as "cross-encoder/ms-marco-MiniLM-L6-v2". '
            "[More](finding.md#a-cross-encoder).",
            trusted_only=True,
        ),
    ] = ""
    cross_encoder_ms: Annotated[
        int,
        about(
            "Time limit for the cross-encoder in ms; a late one is left out.",
            ge=1,
            le=600_000,
        ),
    ] = 2000
    timeout_ms: Annotated[
        int,
        about("Time limit for each retriever in ms; a late one is left out.", ge=1, le=600_000),
    ] = 2000
    idle_minutes: Annotated[
        float,
        about(
            "Minutes without a request before the search process ends; the next request "
            "restarts it. 0: never. With allowed sources it stays.",
            ge=0,
            le=10_080,
        ),
    ] = 15.0

    @property
    def further_encoders(self) -> tuple[str, ...]:
        """The encoders used beside the shipped one, each once."""
        return tuple(dict.fromkeys(name for name in self.encoders if name not in ("", "citation")))


class DocumentOptions(Struct, frozen=True, kw_only=True):
    """Citations and placeholders."""

    cite_commands: Annotated[
        tuple[CiteCommand, ...], about("Additional LaTeX cite commands, without backslash.")
    ] = ()
    placeholders: Annotated[
        tuple[Marker, ...], about("Additional literal placeholders for a citation.")
    ] = ()
    default_command: Annotated[
        str,
        about(
            "Cite command that replaces a marker; default: the document's most frequent.",
            pattern=r"[A-Za-z@]*\*?",
        ),
    ] = ""


class BibOptions(Struct, frozen=True, kw_only=True):
    """New entries in a .bib."""

    key_pattern: Annotated[str, about("Pattern of new citation keys.")] = "{author}{year}{word}"
    target: Annotated[
        str,
        about(
            "The .bib that takes new entries; default: the first one declared.", stays_inside=True
        ),
    ] = ""
    abstract: Annotated[bool, about("Include the abstract in new entries.")] = False
    venue: Annotated[
        Literal["written", "recorded"],
        about("Write venues as authors do, abbreviated as in the .bib, or as the record does."),
    ] = "written"
    save: Annotated[
        bool,
        about("Save a changed .bib that is not open in the editor."),
    ] = True


class ZoteroOptions(Struct, frozen=True, kw_only=True):
    """A running Zotero with Better BibTeX."""

    live: Annotated[
        bool,
        about(
            "Complete, show and insert keys of the running Zotero, without an export.",
            trusted_only=True,
        ),
    ] = False
    collection: Annotated[
        str,
        about(
            'Collection: "NAME", or "2/NAME" in group 2; default: all.',
            trusted_only=True,
        ),
    ] = ""
    format: Annotated[
        Literal["bibtex", "biblatex"],
        about("Format of the entries that Zotero exports to your .bib.", trusted_only=True),
    ] = "bibtex"
    refresh_s: Annotated[
        float,
        about(
            "Seconds between queries to Zotero while you cite; longer if the export is slow.",
            ge=1,
            le=86_400,
            trusted_only=True,
        ),
    ] = 30.0
    url: Annotated[
        str,
        about(
            "Local address: Zotero uses port 23119, Juris-M 24119.",
            pattern=r"http://(?:127\.0\.0\.1|localhost|\[::1\]):\d{1,5}",
            trusted_only=True,
        ),
    ] = "http://127.0.0.1:23119"


class FillOptions(Struct, frozen=True, kw_only=True):
    """Filling of placeholders."""

    unattended: Annotated[
        bool,
        about("Fill placeholders without words, too, if the best paper reaches `fill.threshold`."),
    ] = False
    threshold: Annotated[
        float,
        about(
            "Minimum confidence to fill a placeholder without words. "
            "[Measured precision](benchmarks.md#placeholders-without-words).",
            ge=0,
            le=1,
        ),
    ] = 0.7
    typed_threshold: Annotated[
        float, about("Minimum confidence to fill a placeholder with typed words.", ge=0, le=1)
    ] = 0.8


class LearningOptions(Struct, frozen=True, kw_only=True):
    """Learning from the suggestions that you accept and dismiss."""

    enabled: Annotated[
        bool,
        about(
            "Store on this machine which suggestions you accept and dismiss, and rank by it. "
            "[More](learning.md).",
            trusted_only=True,
        ),
    ] = True


class Options(Struct, frozen=True, kw_only=True):
    """All settings."""

    library: LibraryOptions = LibraryOptions()
    retrieval: RetrievalOptions = RetrievalOptions()
    completion: CompletionOptions = CompletionOptions()
    documents: DocumentOptions = DocumentOptions()
    bib: BibOptions = BibOptions()
    diagnostics: DiagnosticsOptions = DiagnosticsOptions()
    features: FeatureOptions = FeatureOptions()
    hover: HoverOptions = HoverOptions()
    inlay: InlayOptions = InlayOptions()
    lens: LensOptions = LensOptions()
    zotero: ZoteroOptions = ZoteroOptions()
    fill: FillOptions = FillOptions()
    learning: LearningOptions = LearningOptions()
    sources: SourceOptions = SourceOptions()
    llm: LlmOptions = LlmOptions()
    pdf: PdfOptions = PdfOptions()
    serve: ServeOptions = ServeOptions()
