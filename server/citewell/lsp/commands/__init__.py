"""The commands of workspace/executeCommand."""
