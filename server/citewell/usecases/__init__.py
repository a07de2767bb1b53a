"""What a user asks for as a whole: find, fill, check. Front ends translate to these and back."""
