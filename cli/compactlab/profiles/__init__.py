"""Data on what changes from release to release and from model to model: TOML files and their readers.

`catalog`: numbers of a range of versions. `models`: windows and output limits. `prices`: dated prices.
Standard library only; the files are read at the first question, not at import.
"""
