"""Exits with 0 if the server in this container responds: its port is the first argument, or 7413.

The token, if there is one, comes from the environment, as the server's own does.
"""

import os
import sys
import urllib.request

SECONDS = 8


def main() -> int:
    port = sys.argv[1] if len(sys.argv) > 1 else "7413"
    request = urllib.request.Request(f"http://127.0.0.1:{port}/v1/health")
    if token := os.environ.get("CITEWELL_HTTP_TOKEN", "").strip():
        request.add_header("Authorization", f"Bearer {token}")
    # A proxy of the environment has no place between a container and itself.
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    try:
        with opener.open(request, timeout=SECONDS) as answer:
            return 0 if answer.status == 200 else 1
    except OSError as error:
        sys.stderr.write(f"{error}\n")
        return 1


if __name__ == "__main__":
    sys.exit(main())
