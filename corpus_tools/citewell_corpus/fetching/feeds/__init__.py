"""The feeds by name. A new one is a module here and a line in the table."""

from __future__ import annotations

from importlib import import_module

from citewell_corpus.fetching.contract import Feed

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


def feed_named(name: str) -> Feed:
    """The feed of a source."""
    module, _, kind = FEEDS[name].partition(":")
    feed: Feed = getattr(import_module(f"citewell_corpus.fetching.feeds.{module}"), kind)()
    return feed
