"""The files of a paper and of a workspace, and their relations."""
