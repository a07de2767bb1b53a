"""What an editor shows beside the text: hovers, hints, lenses, the list of references."""
