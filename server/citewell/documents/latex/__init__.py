"""LaTeX sources: scanned with exact ranges, and as plain prose."""
