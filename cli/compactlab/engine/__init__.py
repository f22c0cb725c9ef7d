"""One engine: the same step serves replay, check and validate."""
