"""Files, databases and processes of the operating system."""
