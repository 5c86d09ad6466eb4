"""`lct noise`: learn recognition errors, put them into transcripts, measure word error rates."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from statistics import mean
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from long_context_tasks.cli.options import Json, examples
from long_context_tasks.cli.output import give, print_table, say
from long_context_tasks.schema import InputError

if TYPE_CHECKING:
    from long_context_tasks.noise import Rules

app = typer.Typer(
    add_completion=False,
    no_args_is_help=True,
    help="Learn errors of speech recognition, put them into any text, measure word error rates.",
)

_RULES = Annotated[
    Path | None,
    typer.Option(help="File of `lct noise learn`. Default: the rules that come with the package."),
]
_SEED = Annotated[int, typer.Option(help="Equal seeds give equal bytes.")]
_MODE = Annotated[
    Literal["exact", "official"],
    typer.Option(
        help="exact: meets the target as measured and leaves tags alone; official: the simulator of the ELITR-Bench paper."
    ),
]


def _rules(path: Path | None) -> "Rules":
    from long_context_tasks.noise import Rules, default_rules

    return default_rules() if path is None else Rules.read(path)


def _text(path: Path, *, empty: bool = True) -> str:
    try:
        text = path.read_bytes().decode("utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or error
        raise InputError(f"{path}: cannot be read ({reason}); give a text file in UTF-8") from error
    if not empty and not text.split():
        raise InputError(f"{path}: the text holds no words; noise needs some")
    return text


def _check_place(out: Path) -> None:
    """Refuse a place that cannot be written before any work is done."""
    if out.is_dir() or not out.absolute().parent.is_dir():
        raise InputError(f"{out}: cannot be written there; give the name of a file in a folder that exists")


@contextmanager
def _naming(path: Path) -> Iterator[None]:
    """Put the file before an error that does not know it."""
    try:
        yield
    except InputError as error:
        if str(path) in str(error):
            raise
        raise InputError(f"{path}: {error}") from error


def _share(option: str, value: str | float) -> float:
    """A word error rate from 0 to 1."""
    try:
        share = float(value)
    except ValueError:
        share = -1.0
    if not 0 <= share <= 1:
        raise InputError(f"{option}: word error rate {value}: give a share from 0 to 1, such as 0.4 for 40 %")
    return share


@app.command(epilog=examples("lct noise learn asr_pairs.jsonl.gz --out rules.jsonl.gz"))
def learn(
    pairs: Annotated[
        Path,
        typer.Argument(
            help='JSON Lines with "ref" and "hyp", or RED-ACE as published; plain or .gz.', show_default=False
        ),
    ],
    out: Annotated[
        Path, typer.Option("--out", "-o", help="File of the rules; .gz compresses.", show_default=False)
    ],
    source: Annotated[
        list[str] | None, typer.Option(help='Only pairs whose "source" begins like this; may be given again.')
    ] = None,
    language: Annotated[
        str,
        typer.Option(
            help="Code of the language of the pairs, such as de. Rules without one are put into English text only."
        ),
    ] = "",
    official: Annotated[
        Literal["words", "characters"] | None,
        typer.Option(
            "--official-rules",
            help="words or characters: align as the official simulator does, to the byte. Such rules hold substitutions "
            "only and always replace their words.",
        ),
    ] = None,
    as_json: Json = False,
) -> None:
    """Learn how often each word comes out as what from pairs of what was said and what was recognised."""
    from tqdm import tqdm

    from long_context_tasks.noise import learn as learn_rules
    from long_context_tasks.noise import official_rules, read_pairs
    from long_context_tasks.noise.error_rules import write_rules

    _check_place(out)
    if language and not (language.isascii() and language.isalpha() and language.islower()):
        raise InputError(f"--language {language}: give a code of letters, such as de")
    if language and official is not None:
        raise InputError(
            "--language: rules in the official form cannot hold it; leave out one of the two options"
        )
    given = tqdm(read_pairs(pairs, sources=source or ()), unit=" pairs", delay=1.0, disable=None, leave=False)
    if official is not None:
        with _naming(pairs):
            lines = official_rules(given, characters=official == "characters")
        write_rules(out, lines)
        give(
            f"{out}: {len(lines) - 1:,} words, as the official code writes them",
            file=out,
            words=len(lines) - 1,
        )
        return
    with _naming(pairs):
        rules = learn_rules(given, language=language)
    rules.write(out)
    shares = asdict(rules.shares)
    rate = shares.pop("rate")
    give(
        f"{out}: {len(rules):,} words, {100 * rate:.1f} errors for 100 words",
        file=out,
        words=len(rules),
        error_rate=rate,
        **shares,
    )
    say("of the errors " + ", ".join(f"{100 * share:.1f} % {kind}s" for kind, share in shares.items()))


@app.command(epilog=examples("lct noise inject meeting.txt --wer 0.4 --out noisy.txt"))
def inject(
    transcript: Annotated[Path, typer.Argument(help="A text file.", show_default=False)],
    wer: Annotated[float, typer.Option(help="Target word error rate, 0 to 1.", show_default=False)],
    rules: _RULES = None,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="File of the noisy text. Default: standard output.")
    ] = None,
    mode: _MODE = "exact",
    seed: _SEED = 0,
    document: Annotated[
        str | None,
        typer.Option(help="Key of the document: each has noise of its own. Default: the file's name."),
    ] = None,
) -> None:
    """Make a transcript as noisy as a recogniser would; says on standard error what was measured."""
    from long_context_tasks.noise import inject as inject_noise
    from long_context_tasks.noise import noise_seed
    from long_context_tasks.schema.files import write_whole

    wer = _share("--wer", wer)
    if out is not None:
        _check_place(out)
    text, noise_rules = _text(transcript, empty=False), _rules(rules)
    key = transcript.stem if document is None else document
    with _naming(transcript):
        noisy = inject_noise(text, noise_rules, wer, noise_seed(seed, key, wer), mode)
    if out is None:
        typer.echo(noisy.text, nl=False)
    else:
        write_whole(out, noisy.text)
    typer.echo(f"target {100 * wer:.2f} %, measured {100 * noisy.measured_wer:.2f} %", err=True)


@app.command("wer", epilog=examples("lct noise wer meeting.txt noisy.txt"))
def measure(
    reference: Annotated[Path, typer.Argument(help="What was said, a text file.", show_default=False)],
    hypothesis: Annotated[Path, typer.Argument(help="What was recognised, a text file.", show_default=False)],
    as_json: Json = False,
) -> None:
    """Print the word error rate of a text against its reference in percent.

    Words are what stands between white space, with case and punctuation. The first number is over the whole text; where
    both have as many lines, the second is over lines and after NFKC, as the official simulator measures.
    """
    from long_context_tasks.noise import official_error_rate, word_error_rate

    left, right = _text(reference), _text(hypothesis)
    with _naming(reference):
        wer = 100 * word_error_rate(left, right)
        give(f"{wer:.2f}", wer_percent=wer)
    lines = left.split("\n"), right.split("\n")
    if len(lines[0]) == len(lines[1]):
        by_line = official_error_rate(*lines)
        give(f"{by_line:.2f} line by line", wer_percent_line_by_line=by_line)


@app.command(epilog=examples("lct noise table meetings/a.txt meetings/b.txt --targets 0.2,0.4"))
def table(
    transcripts: Annotated[
        list[Path],
        typer.Argument(help="Text files; a file's name is the key of its document.", show_default=False),
    ],
    rules: _RULES = None,
    mode: _MODE = "exact",
    seed: _SEED = 0,
    targets: Annotated[
        str, typer.Option(help="Word error rates with commas, 0 to 1.")
    ] = "0.2,0.4,0.6,0.8,1.0",
    each: Annotated[bool, typer.Option("--each", help="A row for every transcript as well.")] = False,
    as_json: Json = False,
) -> None:
    """Print target and measured word error rates as in Table 5 of the ELITR-Bench paper; writes no texts."""
    from long_context_tasks.noise import measured_rates

    wanted = [_share("--targets", target) for target in targets.split(",")]
    texts: dict[str, str] = {}
    for path in transcripts:
        if path.stem in texts:
            raise InputError(
                f"{path}: another file is called {path.stem} too; their names are the keys of the noise"
            )
        texts[path.stem] = _text(path, empty=False)
    measured = measured_rates(texts, _rules(rules), wanted, seed=seed, mode=mode)
    values = [
        {"target": target, "mean": mean(rates.values())}
        | {"lowest": min(rates.values()), "highest": max(rates.values())}
        for target, rates in measured.items()
    ]
    print_table(
        f"word error rate, % ({mode}, seed {seed})",
        ["target", "mean", "lowest", "highest"],
        [[f"{100 * value:.2f}" for value in row.values()] for row in values],
        values=values,
    )
    if each:
        print_table(
            "measured, by target",
            ["transcript", *(f"{100 * target:g}" for target in measured)],
            [[key, *(f"{100 * rates[key]:.2f}" for rates in measured.values())] for key in texts],
            values=[
                {"transcript": key, "target": target, "measured": rates[key]}
                for key in texts
                for target, rates in measured.items()
            ],
        )
