"""Give known prose new names drawn from a seed.

A carrier (:mod:`.carriers`) is a text that a user has fetched or owns. Its names are found by counting
capitals, and each name is replaced by one new word throughout (:mod:`.renaming`). Everything else is
unchanged.
"""
