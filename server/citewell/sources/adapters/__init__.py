"""One module per source; each says what the source can do, and how it wants to be asked."""
