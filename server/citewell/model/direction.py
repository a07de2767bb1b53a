"""Which way one goes in the graph of citations; the graph itself needs heavy libraries."""

from __future__ import annotations

from typing import Literal

Direction = Literal["cites", "cited_by", "cocited"]
"""What a paper cites; what cites it; what others cite together with it."""
