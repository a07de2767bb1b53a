"""The tasks of a user as a whole: find, fill, check. Front ends translate to these and back."""
