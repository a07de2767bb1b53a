"""The settings of servers on HTTP: who may ask, how often, and behind which proxy."""

from typing import Annotated, Literal

from msgspec import Struct

from citewell.options.leaf import about

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
    str,
    about("an IP address or network", pattern=r"[0-9A-Fa-f.:]{2,45}(?:/[0-9]{1,3})?"),
]


class ServeOptions(Struct, frozen=True, kw_only=True):
    """What `citewell serve` allows its clients."""

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
            'Additional names of the server in the Host header, such as "cite.example.org"; '
            "also of `citewell mcp --http`.",
            trusted_only=True,
        ),
    ] = ()
    rate_limit: Annotated[
        int,
        about(
            "Maximum requests per minute from one client address, also of `citewell mcp --http`; "
            "0: no limit.",
            ge=0,
            le=1_000_000,
            trusted_only=True,
        ),
    ] = 0
    workers: Annotated[
        int,
        about(
            "Number of search processes of `citewell serve` and `citewell mcp --http`; each takes "
            "the memory of one engine, less what they map from the same files.",
            ge=1,
            le=64,
            trusted_only=True,
        ),
    ] = 1
    metrics: Annotated[
        bool,
        about(
            "Answer `GET /metrics` with counts and times in the format of Prometheus, also of "
            "`citewell mcp --http`. "
            "[More](http.md#metrics).",
            trusted_only=True,
        ),
    ] = False
    log_format: Annotated[
        Literal["text", "json"],
        about(
            "Format of the log on standard error, also of `citewell mcp --http`; "
            '"json": one object a line, and a line for each request.',
            trusted_only=True,
        ),
    ] = "text"
    base_path: Annotated[
        str,
        about(
            "Path below which a reverse proxy shows the server, such as /citewell; also of "
            "`citewell mcp --http`.",
            pattern=r"(?:/[A-Za-z0-9._~-]{1,100}){0,10}",
            trusted_only=True,
        ),
    ] = ""
    proxies: Annotated[
        tuple[Network, ...],
        about(
            "Addresses of reverse proxies whose X-Forwarded-For and X-Forwarded-Proto headers "
            "are believed, also by `citewell mcp --http`; default: none.",
            trusted_only=True,
        ),
    ] = ()
    read_only: Annotated[
        bool,
        about(
            "Serve a public demo: no sources, no language model, no learning, smaller requests, "
            "and a rate limit. [More](http.md#public-demo).",
            trusted_only=True,
        ),
    ] = False
