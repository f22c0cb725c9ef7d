"""Where the text of a summary or a memory comes from. Never a model call."""
