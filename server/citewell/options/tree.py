"""The settings tree. Snake case here, camelCase only at the wire (editor settings).

Every leaf has a default, and a description that the docs and the editors' schemas repeat. Types and
constraints are those of msgspec, which converts and checks the values. Marks say what a workspace
file may set, because such a file travels with other people's manuscripts.
"""

from pathlib import Path
from typing import Annotated, Literal

from msgspec import Struct

from citewell.options.editor import (
    CompletionOptions,
    DiagnosticsOptions,
    FeatureOptions,
    HoverOptions,
    InlayOptions,
    LensOptions,
)
from citewell.options.leaf import about
from citewell.options.online import LlmOptions, SourceOptions
from citewell.options.serve import ServeOptions


class PdfOptions(Struct, frozen=True, kw_only=True):
    """What reading one PDF may cost; one that costs more is a problem, and the others are read."""

    grobid: Annotated[
        str,
        about(
            "Address of a GROBID server that reads PDFs instead, such as http://localhost:8070; it "
            "receives the whole file. [What it does](pdf.md#grobid).",
            pattern=r"(?:https?://[^\s/@]+(?:/\S*)?)?",
            trusted_only=True,
            closed_if_wrong=True,
        ),
    ] = ""
    max_pages: Annotated[
        int,
        about(
            "Number of pages that are read of a file; of a longer one, the first and the last.",
            ge=2,
            le=100_000,
        ),
    ] = 1_000
    timeout_s: Annotated[
        float, about("Time limit for one file in seconds.", ge=1, le=3_600, trusted_only=True)
    ] = 60.0
    memory_mb: Annotated[
        int,
        about(
            "Memory limit of the process that reads, in MB (Linux and macOS).",
            ge=100,
            le=100_000,
            trusted_only=True,
        ),
    ] = 1_000


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
    """Which library of papers answers."""

    path: Annotated[
        Path | None,
        about("Folder of the libraries; default: the user data folder.", trusted_only=True),
    ] = None
    name: Annotated[
        str, about("Name of the library to search.", pattern=r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
    ] = "default"
    starter: Annotated[
        bool, about("Search the installed starter library too, below the library named.")
    ] = True
    url: Annotated[
        str,
        about(
            "Back end that proposes candidates by words and by meaning in place of the embedded "
            "indexes: `qdrant://HOST:PORT/NAME` (with TLS: `qdrants://`) or `edge:FOLDER`, written "
            "by `citewell library build --to` (extra `qdrant`). Empty: none.",
            trusted_only=True,
        ),
    ] = ""


class RetrievalOptions(Struct, frozen=True, kw_only=True):
    """How candidates are found and fused."""

    bm25: Annotated[bool, about("Search by words (BM25).")] = True
    dense: Annotated[
        bool,
        about(
            "Search by meaning (dense vectors of the shipped encoder, which citation context and "
            "the trained ranker need)."
        ),
    ] = True
    encoders: Annotated[
        tuple[str, ...],
        about(
            'Encoders that search by meaning beside that of Citewell: "onnx", '
            '"allenai/specter2", or another Hugging Face model such as "intfloat/e5-small-v2" '
            "(extras `onnx`, `specter2`, `neural`). `citewell library build` adds their vectors.",
            trusted_only=True,
        ),
    ] = ()
    citation_context: Annotated[
        bool,
        about("Search by how others cite; needs `retrieval.dense`, whose vectors it uses."),
    ] = True
    ranker: Annotated[
        Literal["learned", "none"],
        about("How candidates are ordered: by the trained ranker, or by the fusion alone."),
    ] = "learned"
    cross_encoder: Annotated[
        str,
        about(
            "Cross-encoder that reranks the best papers of an explicit search (hover, code "
            "actions, `find`, `fill`): a folder, or a Hugging Face name such as "
            '"cross-encoder/ms-marco-MiniLM-L6-v2". ONNX files need the `onnx` extra, others '
            "`neural`. Empty: none.",
            trusted_only=True,
        ),
    ] = ""
    cross_encoder_depth: Annotated[
        int, about("Number of top papers that the cross-encoder reranks.", ge=2, le=200)
    ] = 30
    cross_encoder_ms: Annotated[
        int,
        about(
            "Time limit for the cross-encoder in ms; after that, the list is not reranked.",
            ge=1,
            le=600_000,
        ),
    ] = 2000
    reformulate: Annotated[
        Literal["none", "rules"],
        about(
            "Also search by the passage's most specific words and with its acronyms written "
            "out; the results join the candidates."
        ),
    ] = "none"
    fusion: Annotated[Literal["rrf", "max"], about("Fusion method.")] = "rrf"
    rrf_k: Annotated[int, about("The constant k of reciprocal rank fusion.", ge=0, le=100_000)] = 60
    depth: Annotated[int, about("Number of candidates from each retriever.", ge=1, le=10_000)] = 400
    timeout_ms: Annotated[
        int,
        about(
            "Time limit for each retriever in ms; slower retrievers are left out.", ge=1, le=600_000
        ),
    ] = 2000
    idle_minutes: Annotated[
        float,
        about(
            "Minutes without a request after which the search process ends and frees its memory; "
            "the next request starts it again. 0: never. Where `sources.allow` names sources, it "
            "stays: it holds their records.",
            ge=0,
            le=10_080,
        ),
    ] = 15.0

    @property
    def further_encoders(self) -> tuple[str, ...]:
        """The encoders that are asked beside the shipped one, each once."""
        return tuple(dict.fromkeys(name for name in self.encoders if name not in ("", "citation")))


class DocumentOptions(Struct, frozen=True, kw_only=True):
    """What counts as a citation and as a placeholder."""

    cite_commands: Annotated[
        tuple[CiteCommand, ...], about("Additional LaTeX cite commands, without backslash.")
    ] = ()
    placeholders: Annotated[
        tuple[Marker, ...], about("Additional literal placeholders for a citation.")
    ] = ()
    default_command: Annotated[
        str,
        about(
            "Cite command that replaces a marker; default: the document's most frequent one.",
            pattern=r"[A-Za-z@]*\*?",
        ),
    ] = ""


class BibOptions(Struct, frozen=True, kw_only=True):
    """How entries are written."""

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
        about(
            "Venues of new entries: as authors write them, abbreviated where the .bib abbreviates; "
            'or as the record has them, "NeurIPS 2020, December 6-12, 2020, virtual" included.'
        ),
    ] = "written"
    save: Annotated[
        bool,
        about(
            "Write a .bib that is not open in the editor at once. Otherwise the editor changes it "
            "and leaves it unsaved, which fails while another program writes it."
        ),
    ] = True


class ZoteroOptions(Struct, frozen=True, kw_only=True):
    """Where Zotero with Better BibTeX answers; asked by `citewell library add zotero:`, and by the
    editor where `zotero.live` is on."""

    live: Annotated[
        bool,
        about(
            "Complete, show and insert keys of the running Zotero, without an exported file.",
            trusted_only=True,
        ),
    ] = False
    collection: Annotated[
        str,
        about(
            'Limit to one collection: "NAME", or "2/NAME" in group 2; empty: your whole library.',
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
    """What `citewell fill` writes without being asked."""

    unattended: Annotated[
        bool,
        about(
            "Also fill placeholders without words if the confidence of the best paper reaches "
            "`fill.threshold`. Off: they stay open, with the best papers listed."
        ),
    ] = False
    threshold: Annotated[
        float,
        about(
            "Minimum confidence to fill a placeholder without words unattended. [Measured "
            "precision](finding.md#what-fill-writes).",
            ge=0,
            le=1,
        ),
    ] = 0.7
    typed_threshold: Annotated[
        float,
        about(
            "Minimum confidence to fill a placeholder with typed words.",
            ge=0,
            le=1,
        ),
    ] = 0.8


class LearningOptions(Struct, frozen=True, kw_only=True):
    """What is learned from the suggestions that you accept and dismiss."""

    enabled: Annotated[
        bool,
        about(
            "Store, on this machine only, which suggestions you accept and dismiss, and use "
            "them for ranking. Off: nothing is stored or used. [What is stored, and how to "
            "erase it](learning.md).",
            trusted_only=True,
        ),
    ] = True


class Options(Struct, frozen=True, kw_only=True):
    """The whole tree."""

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
    "pdf": "PDF Files",
    "serve": "HTTP Server",
    "retrieval": "Search Engine",
}
"""What an editor's page of settings calls the sections, in the order of use."""
