"""The compaction layers, one a file. A layer looks at a view and returns plans; it never changes anything."""
