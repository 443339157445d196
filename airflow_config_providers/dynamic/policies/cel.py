"""Rules in the Common Expression Language (CEL), which Kubernetes also uses for admission policies."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Mapping
from functools import cache
from typing import Any, Final

from airflow_config_providers.core.entry_points import installed
from airflow_config_providers.core.java_text import SIZES, TIMES, read_quantity
from airflow_config_providers.core.policy import AlterConfigPolicy, RequestMetadata
from airflow_config_providers.core.text import octets, printable
from airflow_config_providers.dynamic.policies.params import Params
from airflow_config_providers.exceptions import ConfigException, PolicyViolation, refuse

_NO_SIZE: Final = "the argument of bytes_of() is not a size such as 512m"
_NO_TIME: Final = "the argument of milliseconds_of() is not a time such as 10s"
_PLAIN_REASONS: Final = {
    _NO_SIZE: f"{_NO_SIZE}. A number without a unit needs one: bytes_of(text, 'm')",
    _NO_TIME: f"{_NO_TIME}. A number without a unit needs one: milliseconds_of(text, 's')",
    "cannot convert string to int": "the argument of int() is not a whole number",
    "cannot convert string to double": "the argument of double() is not a number",
    "divide by zero": "it divides by zero",
    "Iteration budget exceeded": "it takes too many steps",
    "invalid regular expression": "the argument of matches() is not a valid RE2 regular expression",
    "overflow": "a number is too large",
    "too big": "a number is too large",
}
"""Part of the library's message -> what we report instead, since that message can quote a value."""

_NUL: Final = "\0"
"""The library ends a string at this character, so an expression would check another string than Spark gets."""

_LONGEST: Final = 64 * 1024
_ALL: Final = 1024 * 1024
_WORK: Final = 16 * 1024 * 1024
"""
The most bytes of one string, of all strings, and of the longest string times the number of keys or parts.

The library copies a string each time an expression reads it, and frees nothing before it has finished.
"""

_NO_CONTAINER: Final = " (in container '')"


class CelExpression:
    """
    A condition on a change, in CEL. Thread-safe.

    Variables: ``before`` and ``after``, maps of key to value; ``changed``, the list of keys that change; ``texts``, a
    map of name to string, for a task's references outside its configuration; ``at``, which is ``alter`` or
    ``render``; ``resource.type`` (``default``, ``dag`` or ``task``), ``resource.name``, ``resource.dag_id`` and
    ``resource.task_id``, all strings.

    Functions besides those of CEL, of its strings and of its optional values: ``bytes_of(text)``,
    ``bytes_of(text, unit)``, ``milliseconds_of(text)``, ``milliseconds_of(text, unit)``, where ``unit`` applies to a
    number without a unit. CEL's own ``bytes()`` is excluded: it would compare sizes letter by letter.

    :raises ConfigException: the text is not an expression that returns true or false
    """

    def __init__(self, text: str) -> None:
        if _NUL in text:
            raise ConfigException("it contains a NUL character. Remove it.")
        try:
            self._compiled = _environment().compile(text)
            kind, problems = self._compiled.return_type().name(), []
        except (RuntimeError, TypeError) as error:
            kind, problems = "", list(_compile_problems(str(error)))
        refuse(ConfigException, problems)
        if kind != "BOOL":
            raise ConfigException(f"it returns {kind.lower()}, but must return true or false. Add a comparison.")
        self._text = text
        self._separators = frozenset(_separators(text))

    def holds(self, request: RequestMetadata) -> bool:
        """
        Return whether the condition is true for ``request``.

        :raises PolicyViolation: it cannot be evaluated, for example because a key is missing or a value is too long;
            the message quotes no value
        """
        if problem := _size_problem(request, self._separators):
            raise PolicyViolation(f"The expression cannot be evaluated: {problem}")
        if _NUL in "".join(_texts(request)):
            raise PolicyViolation(
                "The expression cannot be evaluated: a key or a value contains a NUL character. Remove it."
            )
        try:
            result = self._compiled.eval(data=_variables(request))
            kind, value = result.type().name(), result.plain_value()
        except (RuntimeError, TypeError) as error:
            kind, value = "ERROR", str(error)
        if kind == "BOOL":
            return value is True
        raise PolicyViolation(f"The expression cannot be evaluated: {self._reason(str(value))}.")

    def __str__(self) -> str:
        return self._text

    def _reason(self, message: str) -> str:
        missing = re.search(r'Key not found in map : "(.+)"', message)
        if missing is None:
            return next(
                (reason for words, reason in _PLAIN_REASONS.items() if words in message), "it does not fit the values"
            )
        key = missing[1]
        if re.search(rf"""['"]{re.escape(key)}['"]|\.{re.escape(key)}\b""", self._text):
            return f"there is no key '{printable(key)}'. Test it with 'in', or use [?'{printable(key)}'].orValue('')"
        return "a key is missing. Test it with 'in'"


class CelPolicy(AlterConfigPolicy):
    """
    Denies a change for which an expression is not true, or cannot be evaluated.

    Parameters: ``expression``, see ``CelExpression``; ``message``, the reason of a denial, by default the expression.
    """

    def configure(self, configs: Mapping[str, Any]) -> None:
        """Read the parameters ``expression`` and ``message``."""
        params = Params(configs)
        expression, message = params.text("expression"), params.text("message", "")
        params.finish()
        self._expression, self._subject = CelExpression(expression), expression
        self._message = message.strip() or f"This is not true: {printable(' '.join(expression.split()))}"

    @property
    def subject(self) -> str:
        """The expression."""
        return self._subject

    def validate(self, request: RequestMetadata) -> None:
        """Refuse a request for which the expression is not true."""
        if not self._expression.holds(request):
            raise PolicyViolation(self._message)


_NO_CEL: Final = "CEL requires cel-expr-python, which is not installed. Install the extra 'policies'."


@cache
def _environment() -> Any:
    """Return the environment that compiles expressions. It is made once, which takes 0.2 s if protobuf is installed."""
    cel = installed("cel_expr_python.cel", _NO_CEL)
    optional = installed("cel_expr_python.ext.ext_optional", _NO_CEL)
    strings = installed("cel_expr_python.ext.ext_strings", _NO_CEL)
    text = cel.Type.STRING
    maps = dict.fromkeys(("before", "after", "texts"), cel.Type.Map(text, text))
    resource = dict.fromkeys(("resource.type", "resource.name", "resource.dag_id", "resource.task_id"), text)
    return cel.NewEnv(
        config=cel.NewEnvConfigFromYaml("stdlib: {exclude_functions: [{name: bytes}]}"),
        variables={**maps, "changed": cel.Type.List(text), "at": text, **resource},
        extensions=[strings.ExtStrings(), optional.ExtOptional()],
        functions=[
            _function(cel, "bytes_of", lambda text, unit="": _quantity(text, SIZES, unit, _NO_SIZE)),
            _function(cel, "milliseconds_of", lambda text, unit="": _quantity(text, TIMES, unit, _NO_TIME) // 1000),
        ],
    )


def _function(cel: Any, name: str, implementation: Callable[..., int]) -> Any:
    overloads = [
        cel.Overload(
            f"{name}_{count}", return_type=cel.Type.INT, parameters=[cel.Type.STRING] * count, impl=implementation
        )
        for count in (1, 2)
    ]
    return cel.FunctionDecl(name, overloads)


def _quantity(text: str, units: Mapping[str, int], unit: str, problem: str) -> int:
    found = read_quantity(text, units, default_unit=unit)
    if found is None:
        raise ValueError(problem)
    return found


def _variables(request: RequestMetadata) -> dict[str, object]:
    resource = request.resource
    return {
        "before": dict(request.configs_before),
        "after": dict(request.configs_after),
        "changed": request.changed,
        "texts": dict(request.texts),
        "at": request.at.value,
        "resource.type": resource.type.name.lower(),
        "resource.name": resource.name,
        "resource.dag_id": resource.dag_id,
        "resource.task_id": resource.task_id,
    }


def _texts(request: RequestMetadata) -> Iterator[str]:
    for configs in (request.configs_before, request.configs_after, request.texts):
        yield from configs
        yield from configs.values()
    yield request.resource.name


def _separators(expression: str) -> Iterator[str]:
    """Yield the strings at which an expression splits or replaces; an empty string if it is not a literal."""
    for found in re.findall(r"""\b(?:split|replace)\s*\(\s*(?:'([^'\\]*)'|"([^"\\]*)")?""", expression):
        yield found[0] or found[1]


def _size_problem(request: RequestMetadata, separators: Collection[str]) -> str | None:
    """Return why an expression would need too much memory for ``request``; None if it would not."""
    maps = (request.configs_before, request.configs_after, request.texts)
    sizes = [(len(octets(text)), key) for each in maps for key, value in each.items() for text in (key, value)]
    longest, key = max(sizes, default=(0, ""))
    if longest > _LONGEST:
        return f"'{printable(key)}' has {longest} bytes, but the limit for expressions is {_LONGEST}. Shorten it."
    if (size := sum(size for size, _ in sizes)) > _ALL:
        return f"the configuration has {size} bytes, but the limit for expressions is {_ALL}. Set fewer keys."
    splits = (text.count(separator) + 1 for text in _texts(request) for separator in separators)
    if (parts := max(*map(len, maps), *splits)) * longest > _WORK:
        return (
            f"a value of {longest} bytes is too long together with {parts} keys or parts of a value. "
            f"Shorten '{printable(key)}', or set fewer keys."
        )
    return None


def _compile_problems(message: str) -> Iterator[str]:
    """Yield the problems in the library's message, which can name several places."""
    found = re.findall(r"ERROR: <input>:(-?\d+):(-?\d+): (.*)", message)
    for line, column, problem in found:
        place = f"line {line}, column {column}: " if int(line) > 0 else ""
        hint = " Write bytes_of()." if "'bytes'" in problem else ""
        yield f"{place}{_sentence(problem.removesuffix(_NO_CONTAINER))}.{hint}"
    if not found:
        plain = re.fullmatch(r"(?:[A-Z_]+: )?(.*?)(?: \[[A-Z_]+\])?", message, re.DOTALL)
        yield f"{_sentence(plain[1] if plain else message)}."


def _sentence(text: str) -> str:
    return printable(text.strip().removesuffix("."))
