"""Time to draw the map of the default library: `python tests/bench/library_map_bench.py`."""

from __future__ import annotations

import time

from citewell import open_library
from citewell.usecases.library_map import library_map, to_html


def main() -> None:
    """Print the seconds of processor time of five maps, and the size of the page."""
    with open_library() as library:
        library.engine.status()
        for _ in range(5):
            begin = time.process_time()
            found = library_map(library.engine)
            page = to_html(found, "library")
            seconds = time.process_time() - begin
            print(f"{found.works:,} works: {seconds:.2f} s, {len(page.encode()):,} bytes")


if __name__ == "__main__":
    main()
