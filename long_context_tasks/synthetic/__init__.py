"""Generate texts from a seed, so that no model can have seen them, with known answers.

Each kind has a file or folder: meetings with questions (:mod:`.meeting`), abstracts and reviews of trials
(:mod:`.trials`), and forum questions with requirements for parts of invented devices (:mod:`.forum`). Equal
seeds give equal texts on every machine. The words are in text files in ``data``, which :mod:`.wording` turns
into sentences.
"""
