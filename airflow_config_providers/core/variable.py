"""A reference, and texts that hold references (KIP-297)."""

from __future__ import annotations

from dataclasses import dataclass, field

from airflow_config_providers.core.text import printable
from airflow_config_providers.exceptions import ConfigException


@dataclass(frozen=True, slots=True, order=True)
class ConfigVariable:
    """
    A reference ``${provider:[path:]key}`` to a value that is kept outside the configuration.

    The first colon ends the provider; with two or more colons the second ends the path and the key keeps
    the rest. ``${p:k}`` and ``${p::k}`` both have the empty path.

    :param text: the reference as it was written; ``str()`` gives it back, and it is not compared
    :raises ConfigException: no text could mean this provider, path and key
    """

    provider: str
    path: str
    key: str
    text: str = field(default="", compare=False, repr=False)

    def __post_init__(self) -> None:
        if self.text:
            return
        for name, forbidden in (("provider", ":}"), ("path", ":}"), ("key", "}")):
            part = getattr(self, name)
            if any(c in part for c in forbidden):
                raise ConfigException(
                    f"The {name} {printable(part)!r} of a reference holds one of {forbidden!r}, which no reference can "
                    f"say. Rename it."
                )

    def __str__(self) -> str:
        if self.text:
            return self.text
        path = f"{self.path}:" if self.path or ":" in self.key else ""
        return f"${{{self.provider}:{path}{self.key}}}"


def parse(text: str) -> tuple[str | ConfigVariable, ...]:
    r"""
    Split ``text`` into literals and references, in order; an empty text has no segments.

    Matches what Kafka's ``\$\{([^}]*?):(([^}]*?):)?([^}]*?)\}`` matches, in time linear in ``len(text)``
    for every text. There is no escape and no nesting: a ``}`` always ends a reference.
    """
    segments: list[str | ConfigVariable] = []
    literal = position = 0
    while (start := text.find("${", position)) >= 0 and (end := text.find("}", start + 2)) >= 0:
        position = end + 1
        colon = text.find(":", start + 2, end)
        if colon < 0:
            continue
        if literal < start:
            segments.append(text[literal:start])
        segments.append(_variable(text, start, colon, end))
        literal = position
    if literal < len(text):
        segments.append(text[literal:])
    return tuple(segments)


def variables(text: str) -> tuple[ConfigVariable, ...]:
    """Give the references in ``text``, in order, repeated ones too."""
    if "${" not in text:
        return ()
    return tuple(segment for segment in parse(text) if isinstance(segment, ConfigVariable))


def _variable(text: str, start: int, colon: int, end: int) -> ConfigVariable:
    second = text.find(":", colon + 1, end)
    path = text[colon + 1 : second] if second >= 0 else ""
    key = text[(second if second >= 0 else colon) + 1 : end]
    return ConfigVariable(text[start + 2 : colon], path, key, text[start : end + 1])
