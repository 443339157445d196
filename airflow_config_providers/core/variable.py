"""A reference, and strings that contain references (KIP-297)."""

from __future__ import annotations

import re
from collections.abc import Container, Iterator
from dataclasses import dataclass, field
from typing import Final

from airflow_config_providers.core.text import odd_character, printable
from airflow_config_providers.exceptions import ConfigException

_OF_SHELLS: Final = ("-", "=", "+", "?")
"""What follows ``${name:`` in a shell to set a default: ``${name:-default}``."""

_SHELL_DEFAULT: Final = re.compile(r":[-=+?]")

NOT_NESTED: Final = "References cannot be nested: a brace always ends the first one."

_BESIDE_BLANK: Final = re.compile(r":\s|\s[:}]")

NO_BLANKS: Final = (
    "A blank beside a colon or a brace is part of the path or the key. Remove it, unless the name has it."
)

_NO_DEFAULTS: Final = (
    "Kafka's grammar of references has no defaults: write ${provider:path:key} alone, and set the default under "
    "the same key in a lower layer."
)


@dataclass(frozen=True, slots=True, order=True)
class ConfigVariable:
    """
    A reference ``${provider:[path:]key}`` to a value that is kept outside the configuration.

    The first colon ends the provider; with two or more colons the second ends the path and the key keeps
    the rest. ``${p:k}`` and ``${p::k}`` both have the empty path.

    :param text: the reference as it was written, returned by ``str()``; not compared
    :raises ConfigException: no reference can express this provider, path and key
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
                    f"The {name} '{printable(part)}' of a reference contains one of {forbidden!r}, which a reference "
                    f"cannot express. Rename it."
                )

    def __str__(self) -> str:
        if self.text:
            return self.text
        path = f"{self.path}:" if self.path or ":" in self.key else ""
        return f"${{{self.provider}:{path}{self.key}}}"


Spans = list[tuple[int, int, str, str, str]]


def scan(text: str) -> Spans:
    r"""
    Return the references in ``text`` in order, each as (start, end, provider, path, key).

    Matches the same as Kafka's ``\$\{([^}]*?):(([^}]*?):)?([^}]*?)\}``, always in time linear in ``len(text)``.
    There is no escape and no nesting: a ``}`` always ends a reference.
    """
    found: Spans = []
    start = text.find("${")
    while start >= 0 and (close := text.find("}", start)) >= 0:
        end = close + 1
        parts = text[start + 2 : close].split(":", 2)
        if len(parts) == 3:
            found.append((start, end, parts[0], parts[1], parts[2]))
        elif len(parts) == 2:
            found.append((start, end, parts[0], "", parts[1]))
        start = text.find("${", end)
    return found


def parse(text: str) -> tuple[str | ConfigVariable, ...]:
    """Split ``text`` into literals and references, in order; an empty string has no segments."""
    segments: list[str | ConfigVariable] = []
    position = 0
    for start, end, provider, path, key in scan(text):
        if position < start:
            segments.append(text[position:start])
        segments.append(ConfigVariable(provider, path, key, text[start:end]))
        position = end
    if position < len(text):
        segments.append(text[position:])
    return tuple(segments)


def variables(text: str) -> tuple[ConfigVariable, ...]:
    """Return the references in ``text``, in order, including repeated ones."""
    return tuple(ConfigVariable(provider, path, key, text[start:end]) for start, end, provider, path, key in scan(text))


def refers_to(text: str, providers: Container[str]) -> bool:
    """Return whether ``text`` has a reference to one of ``providers``."""
    return any(variable.provider in providers for variable in variables(text))


def beside_references(text: str) -> str:
    """Return ``text`` without its references."""
    spans = scan(text)
    starts, ends = [0, *(span[1] for span in spans)], [*(span[0] for span in spans), len(text)]
    return "".join(text[start:end] for start, end in zip(starts, ends, strict=True))


def is_like(reference: str, pattern: str) -> bool:
    """Return whether ``reference`` matches ``pattern``, in which only ``*`` has a meaning: any text."""
    from fnmatch import fnmatchcase  # noqa: PLC0415 - slow to import, and only audits need it

    return fnmatchcase(reference, re.sub(r"[\[?]", r"[\g<0>]", pattern))


def unclosed(text: str) -> str:
    """Return the provider of a reference at the end of ``text`` that lacks the closing brace; empty if none does."""
    start = text.find("${", text.rfind("}") + 1)
    if start < 0:
        return ""
    provider, colon, _ = text[start + 2 :].partition(":")
    return provider if colon else ""


def no_default(variable: ConfigVariable) -> str:
    """Return a hint that references have no defaults, if ``variable`` has one as in a shell; otherwise empty."""
    has_default = any(part.startswith(_OF_SHELLS) for part in (variable.path, variable.key))
    return _NO_DEFAULTS if has_default else ""


def is_nested(reference: str) -> bool:
    """Return whether ``reference``, as it was written, contains the beginning of another one."""
    return "${" in reference[2:]


def odd_references(text: str) -> Iterator[str]:
    """Yield what is wrong with each reference in ``text`` that looks like another one; see ``odd_character``."""
    for start, end, *_ in scan(text):
        if (offset := odd_character(text[start:end])) is not None:
            yield (
                f"character {start + offset + 1} of the text, {text[start + offset]!a}, is inside a reference and is a "
                f"control character, or of another script than its neighbours. Write the reference again."
            )


def spelling_hint(reference: str) -> str:
    """Return what is probably wrong with ``reference``, as it was written; empty if nothing seems to be."""
    if is_nested(reference):
        return NOT_NESTED
    return NO_BLANKS if _BESIDE_BLANK.search(reference) else ""


def form_hint(variable: ConfigVariable) -> str:
    """Return what is probably wrong with the form of a reference that has no value; empty if nothing seems to be."""
    if hint := spelling_hint(str(variable)):
        return hint
    if no_default(variable) or _SHELL_DEFAULT.search(variable.key):
        return _NO_DEFAULTS
    if variable.path or "/" not in variable.key:
        return ""
    return (
        f"If '{printable(variable.key)}' is a path, the key is missing: write "
        f"${{{printable(variable.provider)}:{printable(variable.key)}:KEY}}."
    )
