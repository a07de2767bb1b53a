"""Records, entries and changes as text: cards, references, diffs."""
