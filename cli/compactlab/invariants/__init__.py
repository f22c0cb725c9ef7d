"""What must hold of every request and every compaction. They look and tell; nothing here repairs."""
