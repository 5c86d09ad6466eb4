"""Known prose with new names, drawn from a seed.

A carrier is a text that a user has fetched or owns (:mod:`.carriers`). What it names is found by counting capitals, and each name becomes
one new word wherever it stands (:mod:`.renaming`). Everything else stays as it was written.
"""
