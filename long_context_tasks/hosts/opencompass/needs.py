"""Everything that this package uses of OpenCompass, checked with 0.5.4, and a check that it is there.

An unknown version must end a run with one line at its start, and not with a missing attribute after hours.
"""

import inspect
import pkgutil
from collections.abc import Iterator, Mapping

from long_context_tasks.hosts.opencompass.console import show_input_errors_in_one_line
from long_context_tasks.schema import InputError

_LOCAL = "path model_kwargs tokenizer_kwargs generation_kwargs max_seq_len model tokenizer template_parser"
_SLURM = "task max_num_workers partition qos extra_command"
# Classes with the parameters that we give and the attributes that we read; methods with their parameters.
USED: Mapping[str, str] = {
    "__version__": "",
    "datasets.base.BaseDataset": "reader_cfg n k load test",
    "models.HuggingFaceBaseModel": _LOCAL,
    "models.HuggingFaceBaseModel.generate": "inputs max_out_len min_out_len stopping_criteria",
    "models.HuggingFacewithChatTemplate": f"{_LOCAL} mode",
    "models.HuggingFacewithChatTemplate.generate": "inputs max_out_len min_out_len stopping_criteria",
    "models.HuggingFacewithChatTemplate.get_token_len": "prompt",
    "models.OpenAI": "",
    "models.OpenAISDK": "path key openai_api_base openai_client tokenizer_path meta_template template_parser is_api mode "
    "max_seq_len temperature openai_extra_kwargs query_per_second retry max_workers",
    "models.OpenAISDK.generate": "inputs max_out_len",
    "models.OpenAISDK.generate_from_template": "templates max_out_len",
    "models.OpenAISDK.get_token_len": "prompt",
    "models.OpenAISDK.parse_template": "prompt_template mode",
    "models.TurboMindModelwithChatTemplate": "",
    "models.VLLM": "",
    "models.VLLMwithChatTemplate": "path model_kwargs generation_kwargs max_seq_len model tokenizer",
    "models.base_api.APITemplateParser": "meta_template",
    "models.base_api.APITemplateParser.parse_template": "prompt_template mode",
    "openicl.icl_evaluator.BaseEvaluator.evaluate": "k n original_dataset",
    "openicl.icl_inferencer.GenInferencer": "model stopping_criteria max_seq_len min_out_len batch_size multiround "
    "is_main_process output_json_filepath output_json_filename dump_res_length dump_only_message_path",
    "openicl.icl_inferencer.GenInferencer.inference": "retriever ice_template prompt_template output_json_filepath "
    "output_json_filename",
    "openicl.icl_inferencer.icl_base_inferencer.BaseInferencer": "model max_seq_len is_main_process output_json_filepath",
    "openicl.icl_prompt_template.PromptTemplate": "template",
    "openicl.icl_retriever.ZeroRetriever": "dataset test_ds",
    "partitioners.NaivePartitioner": "n",
    "partitioners.NumWorkerPartitioner": "num_worker force_rebuild dataset_size_path",
    **dict.fromkeys(
        (f"registry.{name}" for name in ("ICL_EVALUATORS", "ICL_INFERENCERS", "LOAD_DATASET", "MODELS")), ""
    ),
    "runners.LocalRunner": "task max_num_workers",
    "runners.SlurmRunner": _SLURM,
    "runners.SlurmSequentialRunner": _SLURM,
    "summarizers.DefaultSummarizer": "config dataset_abbrs summary_groups prompt_db cfg work_dir model_cfgs dataset_cfgs",
    "summarizers.DefaultSummarizer._pick_up_results": "self",
    "summarizers.DefaultSummarizer.summarize": "output_path time_str",
    "tasks.OpenICLEvalTask": "_out_dir",
    "tasks.OpenICLInferTask": "cfg",
    "utils.batched": "",
    "utils.dataset_abbr_from_cfg": "cfg",
    "utils.logging.get_logger": "",
    "utils.model_abbr_from_cfg": "cfg",
    "utils.prompt.PromptList": "",
}


def check_opencompass(used: Mapping[str, str] = USED) -> None:
    """Check that OpenCompass has everything that we use."""
    show_input_errors_in_one_line()
    if lost := [lack for path, names in used.items() for lack in _lacks(path, names.split())]:
        shown = "; ".join(lost[:3]) + ("; ..." if len(lost) > 3 else "")
        raise InputError(
            f"this version of OpenCompass is not known to long_context_tasks, as it lacks {shown}: "
            "pip install 'opencompass>=0.5.4,<0.6'"
        )


def _lacks(path: str, names: list[str]) -> Iterator[str]:
    try:
        found = pkgutil.resolve_name(f"opencompass.{path}")
    except (ImportError, AttributeError) as error:
        yield f"{path} ({error})"
        return
    known = set(inspect.signature(found).parameters) if names else set()
    if inspect.isclass(found):
        code = [
            each.__code__
            for kind in found.__mro__
            for each in vars(kind).values()
            if inspect.isfunction(each)
        ]
        # An attribute of an instance is a name in the method that sets it.
        known |= {*dir(found), *(name for each in code for name in each.co_names)}
    yield from (f"{name} of {path}" for name in names if name not in known)


def check_local_models() -> None:
    """Check that OpenCompass' classes for local models go with the installed transformers."""
    import transformers
    from opencompass import __version__
    from opencompass.models import HuggingFacewithChatTemplate

    gone = "batch_encode_plus"
    used = gone in HuggingFacewithChatTemplate.generate.__code__.co_names
    if used and not hasattr(transformers.PreTrainedTokenizerBase, gone):
        raise InputError(
            f"OpenCompass {__version__} cannot run local models with transformers {transformers.__version__}, which has no "
            f"{gone}: pip install 'transformers<5' into an environment for OpenCompass, run the model in lm-eval, or "
            "behind a server; `lct report` shows the results of several environments together"
        )
