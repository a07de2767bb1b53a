"""Code actions, one module per subject."""
