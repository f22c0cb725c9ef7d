"""Package data: the gzipped BPE rank files of cl100k_base and o200k_base (origin and licences: NOTICE)."""
