"""Why a response has no score, or the lowest: the one list of reasons that scores, results and pages share."""

DOES_NOT_FIT = "does_not_fit"
"""The prompt and its answer budget exceed the context window; nothing is sent."""
ENDPOINT_FAILED = "endpoint_failed"
"""The model's server, or the judge's, gives no reply."""
NOT_JUDGED = "not_judged"
JUDGE_FAILED = "judge_failed"
"""The judge gives no reply; another run asks it again."""
JUDGE_UNPARSABLE = "judge_unparsable"
"""The judge replies, and its reply holds no score."""
UNPARSABLE = "unparsable"
"""The same of a single verdict."""
NOT_SCORED = "not_scored"
"""The host scores other cases of the run, and not this one."""

ANSWER_CUT = "answer_cut"
"""The answer budget ends while the model is still thinking."""
EMPTY = "empty"
REFUSED = "refused"
"""A refusal is an answer: it gets the lowest score."""
UNPARSED = "unparsed"
AMBIGUOUS = "ambiguous"
WRONG_LENGTH = "wrong_length"

OF_THE_JUDGE = (NOT_JUDGED, JUDGE_FAILED, JUDGE_UNPARSABLE)
UNSCORED = (DOES_NOT_FIT, ENDPOINT_FAILED, *OF_THE_JUDGE)
"""No score, through no fault of the model."""
REASONS = (*UNSCORED, ANSWER_CUT, EMPTY, REFUSED, UNPARSED, AMBIGUOUS, WRONG_LENGTH)
"""All that results count; those that are not in :data:`UNSCORED` give the lowest score."""
