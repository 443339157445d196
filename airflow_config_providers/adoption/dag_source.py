"""The operators in the source of a DAG file, and what they set. The source is read and never run."""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from tokenize import TokenError
from typing import Final

from airflow_config_providers.core.text import grouped
from airflow_config_providers.job.operator_specs import OperatorSpec, spec_of_path
from airflow_config_providers.lazy import cached_property

_READS: Final = {
    "airflow.sdk.Variable.get": "variable",
    "airflow.models.Variable.get": "variable",
    "airflow.models.variable.Variable.get": "variable",
    "airflow.sdk.Connection.get": "connection",
    "airflow.sdk.BaseHook.get_connection": "connection",
    "airflow.sdk.bases.hook.BaseHook.get_connection": "connection",
    "airflow.hooks.base.BaseHook.get_connection": "connection",
    "airflow.models.Connection.get_connection_from_secrets": "connection",
}
"""Function -> what it reads while the file is parsed."""

_Function = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda

_RUN_BY_TASKS: Final = re.compile(r"airflow\.(?:sdk|decorators)\.(?:(?:task|asset)(?:\..+)?|setup|teardown)")
"""The decorators of functions that only tasks call."""

_CALLED_WITH_THE_DAG: Final = re.compile(r"airflow\.(?:sdk|decorators)\.(?:dag|task_group)")
"""The decorators of functions whose calls create a DAG, or a part of one."""

NO_PYTHON: Final = (SyntaxError, ValueError, RecursionError, MemoryError, TokenError)
"""The errors for a source that is no Python, or that is nested too deeply for this version of Python."""

_FIELDS: Final = frozenset({"login", "password", "host", "port", "schema", "conn_type"})


@dataclass(frozen=True, slots=True)
class SecretRead:
    """
    A value that the file reads while it is parsed.

    :param kind: ``variable`` or ``connection``
    :param name: the name of the variable, or the id of the connection; empty if it is not a literal
    :param field: the field of the connection; empty for a variable
    """

    node: ast.expr
    kind: str
    name: str = ""
    field: str = ""

    @property
    def is_plain(self) -> bool:
        """Whether a reference can say the same."""
        return bool(self.name) and (self.kind == "variable" or bool(self.field))


@dataclass(frozen=True, slots=True)
class Setting:
    """
    An entry of a mapping that an operator gets. Its key is empty, and its text None, if that is not a literal.

    :param is_conf: whether it is one of the Spark configuration; otherwise it is an environment variable
    """

    key: str
    text: str | None = field(repr=False)
    node: ast.expr
    mapping: ast.Dict
    is_conf: bool

    def strings(self) -> Iterator[str]:
        """Yield the strings in the value, such as the parts of an f-string."""
        texts = (_text(node) for node in ast.walk(self.node) if isinstance(node, ast.Constant))
        yield from (text for text in texts if text)


@dataclass(frozen=True, slots=True)
class OperatorCall:
    """
    A call that creates a task of an operator that this package knows.

    :param path: the operator's class
    :param task_id: the id of the task; None if it is not a literal
    :param conf: its Spark configuration; empty if that is not written as a mapping in this file
    :param env_vars: its environment variables; empty if they are not written as a mapping in this file
    :param reused: a line of the file that can use the configuration of the task, as in ``task.conf``; 0 for none
    """

    node: ast.Call
    path: str
    spec: OperatorSpec
    task_id: str | None
    conf: tuple[Setting, ...] = ()
    env_vars: tuple[Setting, ...] = ()
    reused: int = 0

    def entries(self) -> tuple[Setting, ...]:
        """Return the entries of both."""
        return (*self.conf, *self.env_vars)

    def other_strings(self) -> Iterator[tuple[ast.expr, str, str]]:
        """Yield the strings in the call that are in no value of its entries, with the arguments that have them."""
        known = {node for setting in self.entries() for node in ast.walk(setting.node)}
        for keyword in self.node.keywords:
            for node in ast.walk(keyword.value):
                if isinstance(node, ast.Constant) and isinstance(node.value, str) and node not in known:
                    yield node, keyword.arg or "**", node.value

    def can_be_of(self, task_id: str) -> bool:
        """Return whether the call can have created a task, which can be in groups."""
        return self.task_id is None or f".{task_id}".endswith(f".{self.task_id}")

    def argument(self, name: str) -> ast.expr | None:
        """Return what is given for an argument."""
        return next((keyword.value for keyword in self.node.keywords if keyword.arg == name), None)

    @property
    def is_configured(self) -> bool:
        """Whether the class, or the decorator, is one of this package."""
        return self.path.startswith("airflow_config_providers.") or self.path.endswith(".task.configured_pyspark")

    @property
    def is_direct(self) -> bool:
        """Whether the configuration is written in the call itself."""
        return any(isinstance(self.argument(name), ast.Dict) for name in _conf_arguments(self.spec))


class DagSource:
    """
    Finds operators in a DAG file.

    :param text: the source
    :raises SyntaxError, ValueError, RecursionError, MemoryError, TokenError: it is no Python, or nested too deeply
    """

    def __init__(self, text: str) -> None:
        self.text = text
        self.tree = ast.parse(text)
        self._nodes = list(ast.walk(self.tree))
        self._names = dict(self._imported())
        self._uses = grouped((node.id, node) for node in self._nodes if isinstance(node, ast.Name))
        keywords = [one for node in self._nodes if isinstance(node, ast.Call) for one in node.keywords]
        self.has_own_templates = any(one.arg == "jinja_environment_kwargs" or _has_own_names(one) for one in keywords)
        """Whether a DAG gives templates another syntax, or could give ``conn`` or ``var`` another meaning."""
        self._places = frozenset(self._configurations())
        self.mappings = dict(self._assigned())
        """Name -> the mapping that is assigned to it, once, and that only operators for Spark get."""
        expressions = (node for node in self._nodes if isinstance(node, ast.expr))
        self._reused = min((node.lineno for node in expressions if self._can_use_again(node)), default=0)

    def calls(self) -> Iterator[OperatorCall]:
        """Yield the calls that create tasks, in the order of the source."""
        found = [call for node in self._nodes if isinstance(node, ast.Call) and (call := self._call(node))]
        yield from sorted(found, key=lambda call: (call.node.lineno, call.node.col_offset))

    def reads(self) -> Iterator[SecretRead]:
        """Yield what the file reads of connections and variables while it is parsed."""
        outer: set[ast.AST] = set()
        for node in self._nodes:
            if isinstance(node, ast.expr) and node not in outer and (found := self.read_of(node)):
                outer.update(ast.walk(node))
                yield found

    def read_of(self, node: ast.expr) -> SecretRead | None:
        """Return what an expression reads; None if it is not such a call, or a field of its result."""
        if isinstance(node, ast.Attribute):
            found = self.read_of(node.value)
            is_field = found is not None and found.kind == "connection" and not found.field and node.attr in _FIELDS
            return SecretRead(node, "connection", found.name, node.attr) if found and is_field else None
        kind = _READS.get(self._path(node.func)) if isinstance(node, ast.Call) else None
        if kind is None or not isinstance(node, ast.Call):
            return None
        is_single = len(node.args) == 1 and not node.keywords
        return SecretRead(node, kind, (_text(node.args[0]) or "") if is_single else "")

    def functions_around(self, node: ast.expr) -> list[_Function]:
        """Return the functions in whose bodies a node is, and which do not just create a DAG."""
        return [one for one in self._around.get(node, ()) if not self._has_decorator(one, _CALLED_WITH_THE_DAG)]

    @cached_property
    def _around(self) -> Mapping[ast.expr, list[_Function]]:
        around = defaultdict[ast.expr, list[_Function]](list)
        for function in (one for one in self._nodes if isinstance(one, _Function)):
            for node in _inside(function):
                if isinstance(node, ast.expr):
                    around[node].append(function)
        return around

    def is_run_by_task(self, function: _Function) -> bool:
        """Return whether only tasks call a function, by its decorators."""
        return self._has_decorator(function, _RUN_BY_TASKS)

    def _has_decorator(self, function: _Function, names: re.Pattern[str]) -> bool:
        decorators = [] if isinstance(function, ast.Lambda) else function.decorator_list
        called = (one.func if isinstance(one, ast.Call) else one for one in decorators)
        return any(names.fullmatch(self._path(one)) for one in called)

    def imports(self, path: str) -> list[tuple[ast.ImportFrom, ast.alias]]:
        """Return the statements ``from ... import`` that import the class at ``path``."""
        module, _, name = path.rpartition(".")
        statements = (node for node in self._nodes if isinstance(node, ast.ImportFrom) and node.module == module)
        return [(node, alias) for node in statements for alias in node.names if alias.name == name]

    def uses(self, name: str) -> Sequence[ast.Name]:
        """Return where a name is used."""
        return self._uses.get(name, [])

    def _can_use_again(self, node: ast.expr) -> bool:
        """Return whether ``node`` can be the configuration of a task: an attribute that is not known to be another."""
        match node:
            case ast.Attribute(value=base, attr=name):
                pass
            case ast.Call(func=ast.Name(id="getattr"), args=[base, ast.Constant(value=name), *_]):
                pass
            case _:
                return False
        return name in CONFIGURATION and not (self._path(base) or self._is_run_or_session(base))

    def _is_run_or_session(self, node: ast.expr) -> bool:
        """Return whether ``node`` has the name of a run, or is the ``spark`` that a function of PySpark gets."""
        is_got = isinstance(node, ast.Name) and not any(isinstance(use.ctx, ast.Store) for use in self.uses(node.id))
        return _last_name(node) == "dag_run" or (is_got and _last_name(node) == "spark")

    def _configurations(self) -> Iterator[ast.AST]:
        """Yield the nodes of what operators for Spark, and the subclasses in this file, get as configuration."""
        classes = (node for node in self._nodes if isinstance(node, ast.ClassDef))
        own = {node.name for node in classes if any(spec_of_path(self._path(base)) for base in node.bases)}
        for node in self._nodes:
            if isinstance(node, ast.Call) and (_last_name(node.func) in own or spec_of_path(self._class(node))):
                values = (one.value for one in node.keywords if one.arg in CONFIGURATION)
                yield from (inner for value in values for inner in ast.walk(value))

    def _class(self, node: ast.Call) -> str:
        """Return the full name of what is called, or of that of which ``partial`` is called."""
        is_partial = isinstance(node.func, ast.Attribute) and node.func.attr == "partial"
        return self._path(node.func.value if is_partial and isinstance(node.func, ast.Attribute) else node.func)

    def _call(self, node: ast.Call) -> OperatorCall | None:
        path = self._class(node)
        spec = spec_of_path(path)
        if spec is None:
            return None
        arguments = {keyword.arg: keyword.value for keyword in node.keywords if keyword.arg}
        conf = tuple(one for name in _conf_arguments(spec) for one in self._settings(arguments.get(name), is_conf=True))
        env_vars = tuple(self._settings(arguments.get("env_vars"), is_conf=False))
        task_id = _text(arguments.get("task_id"))
        return OperatorCall(node, path, spec=spec, task_id=task_id, conf=conf, env_vars=env_vars, reused=self._reused)

    def _settings(self, node: ast.expr | None, *, is_conf: bool) -> Iterator[Setting]:
        """Yield the entries of a mapping, and of the mappings that it includes by ``**`` or ``|``."""
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitOr):
            yield from self._settings(node.left, is_conf=is_conf)
            yield from self._settings(node.right, is_conf=is_conf)
            return
        if isinstance(node, ast.Name):
            node = self.mappings.get(node.id)
        if not isinstance(node, ast.Dict):
            return
        for key, value in zip(node.keys, node.values, strict=True):
            if key is None:  # **other
                yield from self._settings(value, is_conf=is_conf)
            else:
                yield Setting(_text(key) or "", _text(value), value, node, is_conf)

    def _path(self, node: ast.expr) -> str:
        """Return the full name of what is called; empty if it was not imported."""
        if isinstance(node, ast.Name):
            return self._names.get(node.id, "")
        if isinstance(node, ast.Attribute):
            below = self._path(node.value)
            return f"{below}.{node.attr}" if below else ""
        return ""

    def _imported(self) -> Iterator[tuple[str, str]]:
        for node in self._nodes:
            if isinstance(node, ast.ImportFrom) and node.module and not node.level:
                yield from ((alias.asname or alias.name, f"{node.module}.{alias.name}") for alias in node.names)
            elif isinstance(node, ast.Import):
                for alias in node.names:
                    top = alias.name.partition(".")[0]
                    yield alias.asname or top, alias.name if alias.asname else top

    def _assigned(self) -> Iterator[tuple[str, ast.Dict]]:
        """Yield each name that is assigned once, a mapping, and that only operators for Spark get."""
        for node in self._nodes:
            if isinstance(node, ast.Assign) and len(node.targets) == 1 and isinstance(node.value, ast.Dict):
                (target,) = node.targets
                if isinstance(target, ast.Name) and self._is_only_configuration(target.id):
                    yield target.id, node.value

    def _is_only_configuration(self, name: str) -> bool:
        uses = self.uses(name)
        stored = [node for node in uses if isinstance(node.ctx, ast.Store)]
        return len(stored) == 1 and all(node in self._places for node in uses if isinstance(node.ctx, ast.Load))


def _inside(function: _Function) -> Iterator[ast.AST]:
    """Yield the nodes in the body of a function, without its decorators and the defaults of its arguments."""
    body = [function.body] if isinstance(function, ast.Lambda) else function.body
    return (node for one in body for node in ast.walk(one))


CONFIGURATION: Final = frozenset({"conf", "spark_conf", "config_kwargs", "env_vars"})
"""The arguments of operators with configuration, and the attributes that have it."""


def _last_name(node: ast.expr) -> str:
    """Return the last name, or the last key, of an expression: ``dag_run`` in ``context["dag_run"]``."""
    match node:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name
        case ast.Subscript(slice=ast.Constant(value=str(name))):
            return name
        case ast.Call(func=ast.Attribute(attr="get"), args=[ast.Constant(value=str(name)), *_]):
            return name
    return ""


def _has_own_names(keyword: ast.keyword) -> bool:
    """Return whether an argument defines ``conn`` or ``var`` for templates, or names that are not written there."""
    if keyword.arg != "user_defined_macros":
        return False
    names = keyword.value.keys if isinstance(keyword.value, ast.Dict) else [None]
    return any(_text(name) in {None, "conn", "var"} for name in names)


def _conf_arguments(spec: OperatorSpec) -> list[str]:
    """Return the arguments that are the Spark configuration itself, and not something around it."""
    names = {*spec.arguments, *(location.field for location in spec.conf)}
    places = {(location.field, *location.path) for location in spec.conf}
    return sorted(name for name in names if spec.arguments.get(name, (name,)) in places)


def _text(node: ast.expr | None) -> str | None:
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else None


def imported_files(sources: Mapping[str, str], root: Path) -> frozenset[str]:
    """
    Return those of the files that another one imports by name.

    :param sources: path of a file -> its text
    :param root: the folder from which the files import modules
    """
    names = {path: _module(Path(path).resolve().relative_to(root)) for path in sources}
    imported = {name for path, text in sources.items() for name in _imported(text, names[path])}
    return frozenset(path for path, name in names.items() if name in imported)


def _module(path: Path) -> str:
    parts = path.with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def _imported(text: str, module: str) -> Iterator[str]:
    try:
        tree = ast.parse(text)
    except NO_PYTHON:
        return  # it is reported where it is changed
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield from _imported_from(node, module)


def _imported_from(node: ast.ImportFrom, module: str) -> Iterator[str]:
    above = module.split(".")[: -node.level] if node.level else []
    base = ".".join([*above, *([node.module] if node.module else [])])
    yield base
    yield from (f"{base}.{alias.name}" if base else alias.name for alias in node.names)
