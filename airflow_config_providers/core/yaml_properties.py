"""
Properties in YAML: nested maps become keys with dots, and each value is the string that is written.

Only a part of YAML has a meaning here. Lists, null, tags, anchors, aliases and merge keys are refused, so that a small
file cannot become a large configuration, and no value is other than it looks: ``0o17``, ``1e3``, ``12:30:45`` and
``no`` stay as they are. ``True`` and ``FALSE`` become ``true`` and ``false``, as Spark writes them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from contextlib import suppress
from typing import TYPE_CHECKING, Final

from airflow_config_providers.core.keys import LONGEST_KEY
from airflow_config_providers.core.properties import Property
from airflow_config_providers.core.text import printable
from airflow_config_providers.exceptions import ConfigException

if TYPE_CHECKING:
    import yaml

_DEEPEST: Final = 30
_ODD_LINE_END: Final = re.compile("[\x85\u2028\u2029]")
_BOOLEANS: Final = {text: text.lower() for text in ("True", "TRUE", "False", "FALSE")}
_FILLS: Final = {"<tag>": " ", "<anchor>": " ", "<alias>": "0"}
_NULLS: Final = ("", "~", "null", "Null", "NULL")


def parts(text: str, *, name: str) -> tuple[list[Property], list[str]]:
    """
    Return the entries of ``text`` in order, and the problems with the keys that are left out, such as one with a list.

    :param name: where ``text`` comes from, for messages
    :raises ConfigException: ``text`` is not YAML, or has tags, anchors or aliases; names each line, also of such keys
    """
    shown = printable(name)
    _refuse_odd_line_ends(text, shown)
    root, problems = _composed(text.removeprefix("\ufeff"), shown)
    found = list(_entries(root))
    left = [f"{shown}:{one}" for one in found if isinstance(one, str)]
    if problems:
        raise ConfigException(*problems, *left)
    return [one for one in found if isinstance(one, Property)], left


def _refuse_odd_line_ends(text: str, shown: str) -> None:
    """Refuse what ends a line only in YAML 1.1: a value with it would change, and other programs count other lines."""
    if match := _ODD_LINE_END.search(text):
        line = text.count("\n", 0, match.start()) + 1
        code = f"{ord(match[0]):04x}"
        raise ConfigException(
            f"{shown}:{line}: U+{code.upper()} ends a line in some versions of YAML. "
            f'Write "\\u{code}", in double quotes, instead.'
        )


_CORRECT: Final = "Correct it: look at the indentation and the quotes of this line and of the one before."
_TAB: Final = "a tab is not allowed here. Indent with spaces."


def _composed(text: str, shown: str) -> tuple[yaml.Node | None, list[str]]:
    """Return the root of the document, None if it is empty, and the problems with parts that are left out of it."""
    import yaml  # noqa: PLC0415 - slow to import, and most files are not YAML

    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    problems: dict[str, None] = {}  # each once a line
    try:
        for event, depth in with_depths(yaml.parse(text, loader)):
            place = f"{shown}:{line_of(event)}"
            if depth > _DEEPEST:
                raise ConfigException(*problems, f"{place}: maps are nested too deeply. Write keys with dots.")
            if problem := _event_problem(event):
                problems[f"{place}: {problem}"] = None
        if not problems:
            return yaml.compose(text, loader), []
        with suppress(yaml.YAMLError):  # the key of an indented map can depend on what is left out
            return yaml.compose(_plain(text, yaml.scan(text, loader)), loader), [*problems]
        return None, [*problems]
    except yaml.MarkedYAMLError as error:
        problem = syntax_problem(error, text, name=shown, way_out=_CORRECT)
    except yaml.YAMLError as error:
        problem = f"{shown}: it is not YAML ({type(error).__name__}). Correct it."
    raise ConfigException(*problems, problem)


def syntax_problem(error: yaml.MarkedYAMLError, text: str, *, name: str, way_out: str) -> str:
    """
    Return where and why ``text`` is not YAML, and a way out.

    The parser does not name a tab, which nobody sees: this does.
    """
    number, column = (mark.line, mark.column) if (mark := error.problem_mark) else (0, None)
    line = "".join(text.splitlines()[number : number + 1])
    if column is not None and line[column : column + 1] == "\t":
        return f"{name}:{number + 1}: {_TAB}"
    return f"{name}:{number + 1}: {printable(error.problem or error.context or 'it is not YAML')}. {way_out}"


def _plain(text: str, tokens: Iterable[yaml.Token]) -> str:
    """Return ``text`` with blanks for its tags and anchors, and numbers for its aliases, so that nothing grows."""
    pieces, end = [], 0
    for token in tokens:
        if fill := _FILLS.get(token.id):
            start = token.start_mark.index
            pieces += [text[end:start], fill * (token.end_mark.index - start)]
            end = token.end_mark.index
    return "".join([*pieces, text[end:]])


def _event_problem(event: yaml.Event) -> str:
    """Return what is wrong with a part of a file; empty if nothing is."""
    if is_alias(event) or getattr(event, "anchor", None) is not None:
        return "anchors (&) and aliases (*) are not supported. Write the part again, or put a string in quotes."
    if getattr(event, "tag", None) is not None:
        return "tags (!) are not supported. Remove it, or put a string in quotes."
    return ""


def _entries(root: yaml.Node | None) -> Iterator[Property | str]:
    """Yield the entries of a document, and its problems, each with its line before it."""
    if root is None or _is_null(root):
        return
    if root.id == "mapping":
        yield from _flattened(root, "")
    else:
        yield (
            f"{line_of(root)}: expected keys and their values. Write one on each line, such as "
            f"spark.executor.memory: 4g"
        )


def _flattened(node: yaml.MappingNode, prefix: str) -> Iterator[Property | str]:
    """Yield the entries of a map, and its problems, each with its line before it."""
    yield from _repeated_maps(node)
    for key, value in node.value:
        if problem := _key_problem(key, prefix):
            yield f"{line_of(key)}: {problem}"
        elif value.id == "mapping":
            yield from _flattened(value, f"{prefix}{key.value}.")
        elif problem := _value_problem(value):
            yield f"{line_of(key)}: '{printable(prefix + key.value)}' {problem}"
        else:
            yield Property(prefix + key.value, _text(value), line_of(key))


def _repeated_maps(node: yaml.MappingNode) -> Iterator[str]:
    """Yield the problem with each map whose name another part has; a repeated value is left to the reader."""
    first: dict[str, tuple[int, bool]] = {}
    for key, value in node.value:
        name, found = str(key.value), (line_of(key), value.id == "mapping")
        line, is_map = first.setdefault(name, found)
        if found != (line, is_map) and (is_map or found[1]):
            yield (
                f"{found[0]}: '{printable(name)}' is in line {line} already. Write both as one map; beside a value, "
                f"write longer keys with dots, such as 'speculation: true' and 'speculation.interval: 1s'."
            )


def _key_problem(key: yaml.Node, prefix: str) -> str:
    if key.id != "scalar":
        return "a key must be a string. Put a template such as '{{ ds }}' in quotes."
    if not key.style and key.value == "<<":
        return "merge keys (<<) are not supported. Write the keys again."
    if _is_null(key):
        return "the key is missing. Write it before the colon."
    if len(prefix) + len(key.value) > LONGEST_KEY:  # or the memory would grow with the square of the file
        return f"a key has more than {LONGEST_KEY} characters. Shorten it."
    return ""


def _value_problem(value: yaml.Node) -> str:
    if value.id == "sequence":
        return 'has a list. Write it as one string, such as "a,b".'
    if _is_null(value):
        return 'has no value. Write one, write "" for the empty string, or remove the key.'
    return ""


def _is_null(node: yaml.Node) -> bool:
    return node.id == "scalar" and not node.style and node.value in _NULLS


def _text(node: yaml.ScalarNode) -> str:
    return str(node.value if node.style else _BOOLEANS.get(node.value, node.value))


def with_depths(events: Iterable[yaml.Event]) -> Iterator[tuple[yaml.Event, int]]:
    """Yield each event with the number of collections, documents and streams that are open after it."""
    depth = 0
    for event in events:
        kind = type(event).__name__
        depth += kind.endswith("StartEvent") - kind.endswith("EndEvent")
        yield event, depth


def is_alias(event: yaml.Event) -> bool:
    """Return whether an event refers to a part that is written elsewhere."""
    return type(event).__name__ == "AliasEvent"  # the class itself is slow to import


def line_of(part: yaml.Node | yaml.Event) -> int:
    """Return the line where a part begins, counted from 1."""
    return int(part.start_mark.line) + 1
