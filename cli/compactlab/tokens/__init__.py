"""Counting: the length estimate, tiktoken offline, recorded usage, and the table of one session."""
