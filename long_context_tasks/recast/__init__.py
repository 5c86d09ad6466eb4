"""Give known prose new names that are drawn from a seed.

A carrier (:mod:`.carriers`) is a text that a user has fetched or owns. Counting capitals finds its names, and each name becomes one
new word throughout (:mod:`.renaming`). Everything else stays as it was written.
"""
