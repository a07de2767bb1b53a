"""The headers of what a browser shows: a page of Citewell loads nothing from elsewhere.

Trusted Types without a policy keep every text of a record from becoming markup or script.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

CONTENT_SECURITY_POLICY: Final = "; ".join(
    (
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "connect-src 'self'",
        "img-src 'self' data:",
        "base-uri 'none'",
        "form-action 'self'",
        "frame-ancestors 'none'",
        "require-trusted-types-for 'script'",
        "trusted-types 'none'",
    )
)
DATA_HEADERS: Final[Mapping[str, str]] = {
    "cache-control": "no-store",
    "x-content-type-options": "nosniff",
}
"""Of answers for programs."""
PAGE_HEADERS: Final[Mapping[str, str]] = {
    "content-security-policy": CONTENT_SECURITY_POLICY,
    "cross-origin-opener-policy": "same-origin",
    "referrer-policy": "no-referrer",
    "x-content-type-options": "nosniff",
}
"""Of pages, and of the scripts and styles that they load."""
