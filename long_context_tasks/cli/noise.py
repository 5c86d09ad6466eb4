"""`lct noise`: learn the errors of speech recognition and put them into transcripts."""

from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Literal

import typer

from long_context_tasks.cli.options import Json, examples
from long_context_tasks.cli.output import check_out, give, say, warn
from long_context_tasks.schema import InputError

app = typer.Typer(
    add_completion=False,
    no_args_is_help=True,
    help="Learn errors of speech recognition and put them into any text.",
)


def _named(path: Path, error: InputError) -> InputError:
    # The library gets texts, so that its own errors cannot name the file.
    return error if str(path) in str(error) else InputError(f"{path}: {error}")


@app.command(epilog=examples("lct noise learn asr_pairs.jsonl.gz --out rules.jsonl.gz"))
def learn(
    pairs: Annotated[
        Path,
        typer.Argument(
            help='JSON Lines with "ref" and "hyp", or RED-ACE as published; plain or .gz.', show_default=False
        ),
    ],
    out: Annotated[
        Path, typer.Option("--out", "-o", help="File for the rules; .gz compresses it.", show_default=False)
    ],
    source: Annotated[
        list[str] | None,
        typer.Option(help='Take only pairs whose "source" begins with this. Repeatable.'),
    ] = None,
    language: Annotated[
        str,
        typer.Option(
            help="Language code of the pairs, e.g. de. Rules without one work on English text only."
        ),
    ] = "",
    official: Annotated[
        Literal["words", "characters"] | None,
        typer.Option(
            "--official-rules",
            help="Count as the official simulator does, aligned by words or characters. Such rules hold substitutions only and "
            "always replace their words.",
        ),
    ] = None,
    as_json: Json = False,
) -> None:
    """Learn from pairs of transcripts how often a recogniser turns each word into which others."""
    from tqdm import tqdm

    from long_context_tasks.noise import learn as learn_rules
    from long_context_tasks.noise import official_rules, read_pairs
    from long_context_tasks.noise.error_rules import write_rules

    check_out(out)
    if language and not (language.isascii() and language.isalpha() and language.islower()):
        raise InputError(f"--language {language}: give a code of lower-case letters, such as de")
    if language and official is not None:
        raise InputError(
            "--language: rules in the official form cannot hold it; leave out one of the two options"
        )
    rows = tqdm(read_pairs(pairs, sources=source or ()), unit=" pairs", delay=1.0, disable=None, leave=False)
    try:
        if official is not None:
            lines = official_rules(rows, characters=official == "characters")
            write_rules(out, lines)
            # The first line holds rates of the corpus.
            give(f"{out}: {len(lines) - 1:,} words, in the official form", file=out, words=len(lines) - 1)
            return
        rules = learn_rules(rows, language=language)
    except InputError as error:
        raise _named(pairs, error) from error
    rules.write(out)
    shares = asdict(rules.shares)
    rate = shares.pop("rate")
    give(
        f"{out}: {len(rules):,} words, {100 * rate:.1f} errors per 100 words",
        file=out,
        words=len(rules),
        error_rate=rate,
        **shares,
    )
    say("errors: " + ", ".join(f"{100 * share:.1f} % {kind}s" for kind, share in shares.items()))


@app.command(epilog=examples("lct noise inject meeting.txt --wer 0.4 --out noisy.txt"))
def inject(
    transcript: Annotated[Path, typer.Argument(help="Text file in UTF-8.", show_default=False)],
    wer: Annotated[
        float, typer.Option(min=0, max=1, help="Target word error rate, 0 to 1.", show_default=False)
    ],
    rules: Annotated[
        Path | None,
        typer.Option(help="Rules written by `lct noise learn`. Default: the rules of the package."),
    ] = None,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="File for the noisy text. Default: standard output.")
    ] = None,
    mode: Annotated[
        Literal["exact", "official"],
        typer.Option(
            help="exact: meets the target as measured and keeps tags; official: the simulator of the ELITR-Bench paper."
        ),
    ] = "exact",
    seed: Annotated[int, typer.Option(help="Equal seeds give equal noise.")] = 0,
) -> None:
    """Make a transcript as noisy as a recogniser would, and report the measured word error rate on standard error."""
    from long_context_tasks.noise import Rules, default_rules, noise_seed
    from long_context_tasks.noise import inject as inject_noise
    from long_context_tasks.schema.files import write_whole

    if out is not None:
        check_out(out)
    try:
        # Bytes, because Python's text mode would change the line ends that the noisy text keeps.
        text = transcript.read_bytes().decode("utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or error
        raise InputError(f"{transcript}: cannot be read ({reason}); give a text file in UTF-8") from error
    error_rules = default_rules() if rules is None else Rules.read(rules)
    try:
        noisy = inject_noise(text, error_rules, wer, noise_seed(seed, transcript.stem, wer), mode)
    except InputError as error:
        raise _named(transcript, error) from error
    if out is None:
        typer.echo(noisy.text, nl=False)
    else:
        write_whole(out, noisy.text)
    warn(f"target {100 * wer:.2f} %, measured {100 * noisy.measured_wer:.2f} %")
