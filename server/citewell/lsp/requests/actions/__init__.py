"""Code actions: one provider per subject. `lsp.code_action` asks them all."""
