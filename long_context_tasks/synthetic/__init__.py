"""Texts written from a seed, so that no model can have seen them before, with answers that the writer decided.

One folder a kind: meetings with questions (:mod:`.meeting`); abstracts and reviews of trials (:mod:`.trials`); and questions of a
forum with requirements for parts of invented devices (:mod:`.forum`). Names are in :mod:`.vocabulary`.

Equal seeds give equal texts on every machine. What a writer returns is in :mod:`.document`, how sentences are made in
:mod:`.wording`; all words are in text files in ``data``.
"""
