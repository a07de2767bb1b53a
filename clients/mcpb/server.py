"""Starts the server of the bundle in the folders that the user chose in Claude Desktop."""

import sys

from citewell.cli import main

if __name__ == "__main__":
    # One --root may be followed by several folders.
    folders = [one for one in sys.argv[1:] if one != "--root"]
    sys.argv[1:] = ["mcp", *(part for one in folders for part in ("--root", one))]
    main()
