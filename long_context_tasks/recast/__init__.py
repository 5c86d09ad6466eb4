"""Known prose with other facts: each person, place, organisation, date, number, and citation of a real text replaced from a seed.

A carrier is a text that a user has fetched or owns (:mod:`.carriers`). Its entities are found once (:mod:`.entities`); a seed gives each
of them a new name or number, the same wherever it occurs (:mod:`.substitution`). The prose stays as it was written.
"""
