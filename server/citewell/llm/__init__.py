"""The language model: who may be asked, what it is asked, what it costs. Nothing of DSPy is
imported before a provider is named and something is asked."""
