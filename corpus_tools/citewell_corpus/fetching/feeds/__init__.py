"""The feeds by name. A new one is a module here and a line in the table."""

from __future__ import annotations

from importlib import import_module

from citewell_corpus.fetching.contract import Feed, Selection

FEEDS: dict[str, str] = {
    "openalex": "openalex:OpenAlexFeed",
    "arxiv": "arxiv:ArxivFeed",
    "acl-anthology": "whole_files:AclAnthologyFeed",
    "retraction-watch": "whole_files:RetractionWatchFeed",
    "semantic-scholar": "semantic_scholar:SemanticScholarFeed",
    "crossref": "crossref:CrossrefFeed",
    "dblp": "dblp:DblpFeed",
}
"""Name -> module and class, in display order."""


SEARCHED = {"arxiv": "arxiv:ArxivSearchFeed"}
"""The feeds for words, of sources whose bulk interface takes none."""


def feed_named(name: str, selection: Selection) -> Feed:
    """The feed of a source for a selection."""
    feeds = SEARCHED if selection.query and name in SEARCHED else FEEDS
    module, _, kind = feeds[name].partition(":")
    feed: Feed = getattr(import_module(f"citewell_corpus.fetching.feeds.{module}"), kind)()
    return feed
