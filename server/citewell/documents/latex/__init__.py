"""LaTeX sources: scanned with exact ranges, and converted to plain prose."""
