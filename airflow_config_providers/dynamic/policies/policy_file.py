"""The file of a deployment's policies, taken apart."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from airflow_config_providers.core.text import nearest, printable
from airflow_config_providers.exceptions import ConfigException

if TYPE_CHECKING:
    import yaml

_LARGEST: Final = 1024 * 1024
_DEEPEST: Final = 20
_KINDS: Final[Mapping[str, type]] = {
    **dict.fromkeys(("when", "expression", "message", "class"), str),
    **dict.fromkeys(("match", "params"), Mapping),
}
"""Field -> what it must be."""

_NEEDED: Final[Mapping[type, str]] = {
    str: "is no text. Put it in quotes.",
    Mapping: "is no mapping. Write names and values below it.",
}
_FIELDS: Final = ("name", "match", "when", "expression", "message", "class", "params")


@dataclass(frozen=True, slots=True)
class PolicyEntry:
    """
    A policy as it is written.

    :param file: its name
    :param name: empty where there is none
    :param fields: what is written, by field
    :param lines: the line of each field, from 1 on
    """

    file: str
    line: int
    name: str
    fields: Mapping[str, Any]
    lines: Mapping[str, int]

    @property
    def where(self) -> str:
        """Where it begins, and its name where there is one."""
        return f"{self.file}:{self.line}" + (f": policy '{printable(self.name)}'" if self.name else "")

    def located(self, name: str) -> str:
        """Say where the field ``name`` is; where the policy begins, if it is not written."""
        if name not in self.lines:
            return self.where
        return f"{self.file}:{self.lines[name]}: policy '{printable(self.name)}': {name}"

    @property
    def sound(self) -> Mapping[str, Any]:
        """The fields that are known and of the right kind."""
        wrong = {
            name for name, kind in _KINDS.items() if name in self.fields and not isinstance(self.fields[name], kind)
        }
        return {name: value for name, value in self.fields.items() if name in _FIELDS and name not in wrong}

    def problems(self) -> Iterator[str]:
        """Give what is wrong with the form, one sentence each."""
        if not self.name:
            yield f"{self.where}: the policy has no name. Add it."
        for name in self.fields.keys() - set(_FIELDS):
            hint = nearest(str(name), _FIELDS) or f". Known are {', '.join(_FIELDS)}."
            yield f"{self.where}: '{printable(str(name))}' is not known{hint}"
        if ("expression" in self.fields) == ("class" in self.fields):
            yield f"{self.where}: a policy has an expression or a class. Write one of them."
        if "params" in self.fields and "class" not in self.fields:
            yield f"{self.where}: params belong to a class. Remove them."
        if "message" in self.fields and "expression" not in self.fields:
            yield f"{self.where}: a message belongs to an expression. Remove it."
        for name in sorted(self.fields.keys() & _KINDS.keys() - self.sound.keys()):
            yield f"{self.where}: {name} {_NEEDED[_KINDS[name]]}"


def read_policies(path: str) -> tuple[list[PolicyEntry], list[str]]:
    """
    Read a file of policies.

    :return: the policies, and what is wrong with their form, one sentence each
    :raises ConfigException: it cannot be read, or is no YAML of the right form
    """
    name = printable(Path(path).name)
    entries, problems = _entries(_read(path), name)
    problems += [problem for entry in entries for problem in entry.problems()]
    return entries, [*problems, *_repeated_names(entries)]


def _repeated_names(entries: Sequence[PolicyEntry]) -> Iterator[str]:
    first: dict[str, PolicyEntry] = {}
    for entry in entries:
        if entry.name and first.setdefault(entry.name, entry) is not entry:
            yield f"{entry.where}: line {first[entry.name].line} has a policy of this name. Rename one."


def _read(path: str) -> str:
    try:
        with Path(path).open("rb") as file:
            octets = file.read(_LARGEST + 1)
        text = octets.decode("utf-8")
    except OSError as error:
        problem = error.strerror or type(error).__name__
    except UnicodeDecodeError as error:
        problem = f"byte {error.start} is not UTF-8"
    else:
        if len(octets) <= _LARGEST:
            return text
        problem = f"it has more than {_LARGEST} bytes"
    raise ConfigException(
        f"The policies in '{printable(path)}' cannot be read: {problem}. Correct the path or the file."
    )


def _entries(text: str, name: str) -> tuple[list[PolicyEntry], list[str]]:
    import yaml  # noqa: PLC0415 - slow to import, and few commands read policies

    try:
        _refuse_odd(yaml.parse(text, yaml.SafeLoader), name)
        return _Document(yaml.SafeLoader(text), name).entries()
    except yaml.MarkedYAMLError as error:
        place = f"{name}:{error.problem_mark.line + 1 if error.problem_mark else 1}"
        problem = printable(error.problem or error.context or "it is no YAML")
    except (yaml.YAMLError, RecursionError, ValueError) as error:
        place, problem = name, f"it is no YAML ({type(error).__name__})"
    raise ConfigException(f"{place}: {problem}. Correct it.")


def _refuse_odd(events: Iterable[yaml.Event], name: str) -> None:
    """Refuse what would take YAML's reader long, before it does."""
    depth = 0
    for event in events:
        kind = type(event).__name__
        depth += kind.endswith("StartEvent") - kind.endswith("EndEvent")
        if kind == "AliasEvent":
            raise ConfigException(f"{name}:{_line(event)}: an alias stands for another part. Write it out.")
        if depth > _DEEPEST:
            raise ConfigException(f"{name}:{_line(event)}: lists and mappings are nested too deep. Write less.")


class _Document:
    """A document of YAML of which the lines are still known."""

    def __init__(self, loader: yaml.SafeLoader, name: str) -> None:
        self._loader = loader
        self._name = name

    def entries(self) -> tuple[list[PolicyEntry], list[str]]:
        root = self._loader.get_single_node()
        fields = self._fields(root)
        listed = fields.get("policies")
        if listed is None or listed.id != "sequence" or len(fields) > 1:
            raise ConfigException(f"{self._name}: expected 'policies:' with a list below it, and nothing else.")
        return [self._entry(node) for node in listed.value], list(self._repeated(root))

    def _entry(self, node: yaml.Node) -> PolicyEntry:
        nodes = self._fields(node)
        values = {field: self._value(child) for field, child in nodes.items()}
        name = values.get("name")
        lines = {field: _line_of_text(child) for field, child in nodes.items()}
        return PolicyEntry(self._name, _line(node), name.strip() if isinstance(name, str) else "", values, lines)

    def _fields(self, node: yaml.Node | None) -> dict[str, yaml.Node]:
        if node is None or node.id != "mapping":
            return {}
        return {str(self._value(key)): child for key, child in node.value}

    def _value(self, node: yaml.Node) -> Any:
        return self._loader.construct_object(node, deep=True)

    def _repeated(self, node: yaml.Node | None) -> Iterator[str]:
        """Tell of keys that stand twice in a mapping: YAML's own reader would take the last."""
        if node is None or node.id == "scalar":
            return
        seen: set[str] = set()
        for child in node.value:
            key, value = child if node.id == "mapping" else (None, child)
            if key is not None and key.id == "scalar":
                if key.value in seen:
                    yield f"{self._name}:{_line(key)}: '{printable(key.value)}' stands here twice. Keep one."
                seen.add(key.value)
            yield from self._repeated(value)


def _line(part: yaml.Node | yaml.Event) -> int:
    return int(part.start_mark.line) + 1


def _line_of_text(node: yaml.Node) -> int:
    """Give the line where the text of a field begins: below the sign of a block."""
    return _line(node) + (getattr(node, "style", None) in ("|", ">"))
