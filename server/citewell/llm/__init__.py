"""The language model: providers, prompts and costs. DSPy is imported only when a provider is
configured and asked."""
