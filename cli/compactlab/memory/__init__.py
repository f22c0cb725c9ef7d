"""Session memory: when it is extracted, and the sections that it has."""
