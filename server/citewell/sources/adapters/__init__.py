"""One module per source: its capabilities, and its rules for requests."""
