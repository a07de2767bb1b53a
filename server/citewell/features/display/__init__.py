"""What an editor shows beside the text: hovers, hints, lenses, semantic tokens."""
