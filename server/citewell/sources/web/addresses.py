"""Detection of dead addresses in references (`citewell check --check-urls`).

The addresses come from the user's files, which may be a stranger's: only public hosts are asked,
without cookies or keys, with a HEAD request where the host takes one, and no body is read.
"""

from __future__ import annotations

import asyncio
import ipaddress
import socket
from collections.abc import Iterable
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

import httpx2

from citewell import __version__

MOST = 1_000
"""Maximum number of addresses of one check."""
AT_ONCE = 8
"""Number of hosts contacted concurrently; each gets one request after the other."""
PAUSE = 0.5
"""Seconds between two requests to a host."""
SECONDS = 15.0
"""Time limit of one request."""
MAX_HOPS = 5
GONE = frozenset({404, 410})
"""Statuses of a page that does not exist; refusals and failures say nothing about it."""
_NO_HEAD = frozenset({403, 405, 501})
"""Statuses after which the address is requested again with GET."""
_LOCAL = frozenset({"localhost", "local", "internal", "lan", "home", "intranet"})


async def gone(urls: Iterable[str]) -> dict[str, int]:
    """The addresses that no longer exist, with their status (404 or 410).

    An address that cannot be reached, refuses, or is not public is left out.
    """
    by_host: dict[str, list[str]] = {}
    for url in list(dict.fromkeys(urls))[:MOST]:
        by_host.setdefault(urlsplit(url).hostname or "", []).append(url)
    slots = asyncio.Semaphore(AT_ONCE)
    found: dict[str, int] = {}
    headers = {"user-agent": f"citewell/{__version__}", "accept": "*/*"}
    async with httpx2.AsyncClient(headers=headers, trust_env=True, timeout=SECONDS) as client:

        async def ask_host(addresses: list[str]) -> None:
            async with slots:
                for number, url in enumerate(addresses):
                    if number:
                        await asyncio.sleep(PAUSE)
                    status = await _status(client, url)
                    if status in GONE:
                        found[url] = status

        await asyncio.gather(*(ask_host(addresses) for addresses in by_host.values()))
    return found


async def _status(client: httpx2.AsyncClient, url: str) -> int:
    """The status at the end of all redirects, or 0."""
    method = "HEAD"
    try:
        async with asyncio.timeout(SECONDS):
            for _ in range(MAX_HOPS):
                if not await is_public(url):
                    return 0
                async with client.stream(method, url, follow_redirects=False) as response:
                    following = response.next_request
                    status = response.status_code
                if following is not None:
                    url = str(following.url)
                elif method == "HEAD" and (status in _NO_HEAD or status in GONE):
                    # Some hosts answer HEAD with 404 for existing pages.
                    method = "GET"
                else:
                    return status
    except (TimeoutError, httpx2.HTTPError, httpx2.InvalidURL, ValueError, OSError):
        pass
    return 0


async def is_public(url: str) -> bool:
    """True for a web address outside this machine and its network.

    Behind a proxy, which resolves names itself, a name is judged by its form alone.
    """
    parts = urlsplit(url)
    host = (parts.hostname or "").rstrip(".").lower()
    if parts.scheme not in ("http", "https") or not host or parts.username is not None:
        return False
    try:
        return ipaddress.ip_address(host).is_global
    except ValueError:
        pass
    if "." not in host or host.rpartition(".")[2] in _LOCAL:
        return False
    proxies = getproxies()
    if (parts.scheme in proxies or "all" in proxies) and not proxy_bypass(host):
        return True
    loop = asyncio.get_running_loop()
    try:
        found = await loop.getaddrinfo(host, None, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError):
        return False
    return all(ipaddress.ip_address(one[4][0]).is_global for one in found)
