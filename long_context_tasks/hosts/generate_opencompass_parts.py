"""What several config files of OpenCompass share; :mod:`.generate_opencompass` puts it in."""

ENVIRONMENT = """\
# Not an import statement: what those bring cannot be called in a config file.
_env = __import__('long_context_tasks.hosts.config_numbers', fromlist=[''])
"""
"""Numbers in variables; a file deletes it at its end."""

CHOICE = (
    ENVIRONMENT
    + """\
_all = {all}
_given = os.environ.get('LCT_TASKS', '').replace(',', ' ').split()
_by_name = dict([(d['abbr'], d) for d in _all])
_unknown = [name for name in _given if name not in _by_name and name != 'official']
if _unknown:
    raise ValueError('LCT_TASKS: not tasks of this benchmark: ' + ', '.join(_unknown) + '; `lct tasks` lists all')
"""
)
REPEATS = """\
_runs = _env.whole('LCT_RUNS', 1)
_eval_gpus = _env.whole('LCT_EVAL_GPUS', 0, 0)
datasets = [dict(d, n=_runs, k=_runs, eval_cfg=dict(d['eval_cfg'], num_gpus=_eval_gpus)) for d in datasets]
"""
RUN = """\
infer = dict(
    # force_rebuild: the host remembers sizes by name only and would run 5 cases where 50 are asked the next time.
    partitioner=dict(type=NumWorkerPartitioner, num_worker=_workers, force_rebuild=True, dataset_size_path=''),
    runner=dict({runner}, task=dict(type=OpenICLInferTask)),
)
eval = dict(
    # Ten tasks to a process: each process takes ten seconds to start.
    partitioner=dict(type=NaivePartitioner, n=10),
    runner=dict({runner}, task=dict(type=OpenICLEvalTask)),
)
"""
