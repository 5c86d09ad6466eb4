"""Settings of the builders, which `lct build --help` reads, so that nothing heavy is imported here."""

from dataclasses import dataclass

from long_context_tasks.tokens.build_settings import BuildSettings


@dataclass(frozen=True)
class MeetingSettings(BuildSettings):
    """Settings of synthetic cases; a length is the maximum number of tokens of a prompt without the model's earlier answers."""

    SHORTEST = 1_000
    INSTRUCTION = "some 100"
