"""Makes the data of the distribution citewell-starter from records."""
