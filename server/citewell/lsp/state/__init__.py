"""The memory of one connection: shown lists, checks, choices."""
