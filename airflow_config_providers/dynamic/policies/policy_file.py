"""Reads the file of a deployment's policies."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from pkgutil import get_data
from typing import TYPE_CHECKING, Any, Final

from airflow_config_providers.core.entry_points import registered
from airflow_config_providers.core.named_file import read_named
from airflow_config_providers.core.policy import Enforcement
from airflow_config_providers.core.text import nearest, not_one_of, printable
from airflow_config_providers.core.yaml_properties import is_alias, line_of, syntax_problem, with_depths
from airflow_config_providers.dynamic.policies.classes import ENTRY_POINT_GROUP, READY
from airflow_config_providers.exceptions import ConfigException, system_reason

if TYPE_CHECKING:
    import yaml

_DEEPEST: Final = 20
_KINDS: Final[Mapping[str, type]] = {
    "match": Mapping,
    **dict.fromkeys(("when", "expression", "message", "class"), str),
    "params": Mapping,
}
"""Field -> the type that it must have."""

_NEEDED: Final[Mapping[type, str]] = {
    str: "is not a string. Put it in quotes.",
    Mapping: "is not a mapping. Write names and values below it.",
}
_FIELDS: Final = ("name", "enforcement", *_KINDS)
_ENFORCEMENTS: Final = [one.value for one in Enforcement]


@dataclass(frozen=True, slots=True)
class PolicyEntry:
    """
    A policy as written in the file.

    :param file: the name of the file
    :param name: the name of the policy; empty if it has none
    :param fields: field -> what is written
    :param lines: field -> its line, counted from 1
    """

    file: str
    line: int
    name: str
    fields: Mapping[str, Any]
    lines: Mapping[str, int]

    @property
    def where(self) -> str:
        """The line where the policy begins, and its name if it has one."""
        return f"{self.file}:{self.line}" + (f": policy '{printable(self.name)}'" if self.name else "")

    def located(self, name: str) -> str:
        """Return the place of the field ``name``, or that of the policy if the field is missing."""
        if name not in self.lines:
            return self.where
        return f"{self.file}:{self.lines[name]}: policy '{printable(self.name)}': {name}"

    @property
    def enforcement(self) -> Enforcement:
        """What follows from a denial; the default if something else is written, which is a problem."""
        written = self.fields.get("enforcement")
        return next((one for one in Enforcement if one.value == written), Enforcement.DENY)

    @property
    def sound(self) -> Mapping[str, Any]:
        """The known fields that have the right type."""
        wrong = {
            name for name, kind in _KINDS.items() if name in self.fields and not isinstance(self.fields[name], kind)
        }
        return {name: value for name, value in self.fields.items() if name in _FIELDS and name not in wrong}

    def problems(self) -> Iterator[str]:
        """Yield the problems with the form, one sentence each."""
        if not self.name:
            yield f"{self.where}: the policy has no name. Add it."
        for name in self.fields.keys() - set(_FIELDS):
            hint = nearest(str(name), _FIELDS) or f". The fields are {', '.join(_FIELDS)}."
            yield f"{self.where}: '{printable(str(name))}' is an unknown field{hint}"
        if ("expression" in self.fields) == ("class" in self.fields):
            yield f"{self.where}: a policy has either an expression or a class. Write one of them."
        if "params" in self.fields and "class" not in self.fields:
            yield f"{self.where}: params require a class. Remove them."
        if "message" in self.fields and "expression" not in self.fields:
            yield f"{self.where}: a message requires an expression. Remove it."
        if (enforcement := self.fields.get("enforcement", Enforcement.DENY.value)) not in _ENFORCEMENTS:
            yield f"{self.located('enforcement')}: {not_one_of(str(enforcement), _ENFORCEMENTS)}"
        for name in sorted(self.fields.keys() & _KINDS.keys() - self.sound.keys()):
            yield f"{self.where}: {name} {_NEEDED[_KINDS[name]]}"


def read_policies(path: str) -> tuple[list[PolicyEntry], list[str]]:
    """
    Read a file of policies.

    :return: the policies, and the problems with their form, one sentence each
    :raises ConfigException: the file cannot be read, or is not YAML of the right form
    """
    name = printable(Path(path).name)
    entries, problems = _entries(_read(path), name)
    problems += [problem for entry in entries for problem in entry.problems()]
    return entries, [*problems, *_repeated_names(entries)]


def _repeated_names(entries: Sequence[PolicyEntry]) -> Iterator[str]:
    first: dict[str, PolicyEntry] = {}
    for entry in entries:
        if entry.name and first.setdefault(entry.name, entry) is not entry:
            yield f"{entry.where}: the policy in line {first[entry.name].line} has the same name. Rename one of them."


def _read(path: str) -> str:
    try:
        return read_named(path).decode("utf-8")
    except OSError as error:
        problem = system_reason(error)
    except UnicodeDecodeError as error:
        problem = f"byte {error.start} is not UTF-8"
    raise ConfigException(
        f"The policies in '{printable(path)}' cannot be read: {problem}. Correct the path or the file."
    )


def _entries(text: str, name: str) -> tuple[list[PolicyEntry], list[str]]:
    import yaml  # noqa: PLC0415 - slow to import, and few commands read policies

    try:
        _refuse_odd(yaml.parse(text, yaml.SafeLoader), name)
        return _PolicyDocument(yaml.SafeLoader(text), name).entries()
    except yaml.MarkedYAMLError as error:
        problem = syntax_problem(error, text, name=name, way_out="Correct it.")
    except (yaml.YAMLError, RecursionError, ValueError) as error:
        problem = f"{name}: it is not YAML ({type(error).__name__}). Correct it."
    raise ConfigException(problem)


def _refuse_odd(events: Iterable[yaml.Event], name: str) -> None:
    """Refuse, in advance, what would take the YAML parser a long time."""
    for event, depth in with_depths(events):
        if is_alias(event):
            raise ConfigException(f"{name}:{line_of(event)}: aliases are not supported. Write the part again.")
        if depth > _DEEPEST:
            raise ConfigException(f"{name}:{line_of(event)}: lists and mappings are nested too deeply. Flatten them.")


class _PolicyDocument:
    """A YAML document that knows the lines of its parts."""

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
        return PolicyEntry(self._name, line_of(node), name.strip() if isinstance(name, str) else "", values, lines)

    def _fields(self, node: yaml.Node | None) -> dict[str, yaml.Node]:
        if node is None or node.id != "mapping":
            return {}
        return {str(self._value(key)): child for key, child in node.value}

    def _value(self, node: yaml.Node) -> Any:
        return self._loader.construct_object(node, deep=True)

    def _repeated(self, node: yaml.Node | None) -> Iterator[str]:
        """Yield the problems with keys that appear twice in a mapping: the YAML parser would take the last one."""
        if node is None or node.id == "scalar":
            return
        seen: set[str] = set()
        for child in node.value:
            key, value = child if node.id == "mapping" else (None, child)
            if key is not None and key.id == "scalar":
                if key.value in seen:
                    yield f"{self._name}:{line_of(key)}: '{printable(key.value)}' appears twice. Keep one."
                seen.add(key.value)
            yield from self._repeated(value)


def _line_of_text(node: yaml.Node) -> int:
    """Return the line where the text of a field begins; a block begins in the next line."""
    return line_of(node) + (getattr(node, "style", None) in ("|", ">"))


Schema = dict[str, Any]

_FILE_OF_SCHEMA: Final = "policy_schema.yaml"


def policy_schema() -> Schema:
    """Return the schema of the file that ``[config_providers] policies_file`` names, with the installed policies."""
    import yaml  # noqa: PLC0415 - as above

    found: Schema = yaml.safe_load(get_data(__package__, _FILE_OF_SCHEMA) or b"")
    schema: Schema = found["schema"]
    policy = schema["properties"]["policies"]["items"]
    policy["allOf"] = [_params_of(name, params) for name, params in found["params"].items()]
    names = {*READY, *(entry.name for entry in registered(ENTRY_POINT_GROUP))}
    policy["properties"]["class"]["anyOf"][0]["enum"] = sorted(names)
    return schema


def _params_of(name: str, params: Schema) -> Schema:
    """Return the condition that a policy of the class ``name`` has its parameters."""
    required = ["params"] if params.get("required") or params.get("minProperties") else []
    return {
        "if": {"required": ["class"], "properties": {"class": {"const": name}}},
        "then": {"required": required, "properties": {"params": params}},
    }
