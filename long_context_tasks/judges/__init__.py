"""Judges: models that score responses by a rubric, with one configuration for all hosts.

Every reply is stored, so none is paid for twice. A benchmark provides requests and a rubric;
:func:`~long_context_tasks.judges.run.judge_all` returns verdicts::

    config = load_judge(options.judge)             # judges.kinds; None without a judge
    check_judge(config)                            # judges.kinds; before generation
    store = Store(default_store_path(config))      # judges.store
    verdicts = judge_all(requests, config, rubric, store)  # judges.run
    print(summarize(verdicts, config))             # judges.verdict

Nothing is imported here, because reports need the verdicts but not the code that requests them.
"""
