"""Where a reference may not be: others could read its value, a command would change, or nothing resolves it."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from airflow_config_providers.core.layers import LayeredConfig
from airflow_config_providers.core.text import printable
from airflow_config_providers.core.variable import ConfigVariable, no_default, refers_to, scan, variables
from airflow_config_providers.exceptions import ExposedValueError, refuse
from airflow_config_providers.job.nested_texts import field_of, label_below, strings
from airflow_config_providers.spark import exposed_keys
from airflow_config_providers.spark.named_arguments import ENVIRONMENT_ON_KUBERNETES, ENVIRONMENT_ON_YARN, IN_COMMAND
from airflow_config_providers.spark.substitutions import SUBSTITUTED_BY_SPARK, Substitutions


def shows_environment(prefix: str, is_remote: Callable[[], bool]) -> bool:
    """
    Return whether other people can read the driver's environment: on YARN, always; on Kubernetes, in its pod.

    :param prefix: the prefix under which environment variables are keys of Spark
    :param is_remote: returns whether the driver runs on another machine; called only if that matters
    """
    return prefix != ENVIRONMENT_ON_KUBERNETES or is_remote()


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class Destination:
    """
    Where a job runs, as far as its connection says.

    :param prefixes: the prefixes under which environment variables are keys of Spark
    :param is_remote: returns whether its driver runs on another machine, given the settled configuration
    :param absent: returns the id of a connection that was not found, for which a stock hook assumes YARN; otherwise an
        empty string. Asking takes time
    """

    prefixes: Collection[str] = ()
    is_remote: Callable[[Mapping[str, str]], bool] = lambda _: False
    absent: Callable[[], str] = lambda: ""


_SAFE: Final = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_@%+=:,./~-")
"""Characters without special meaning in a string that is split into words, or that is a program."""

_ELSEWHERE: Final = "Pass it under another key"
_WAYS_OUT: Final = {
    "env_vars": "Pass it as a key of conf that the job reads",
    "post_submit_commands": "Call a script that reads it",
}
_ANYONE: Final = "by every user of the machine or of Spark's UI"
_READERS: Final = {
    ENVIRONMENT_ON_YARN: "by everyone who can read the logs of the application on YARN",
    ENVIRONMENT_ON_KUBERNETES: "by everyone who can see the pod of the driver",
}
"""Prefix of a key -> who reads what it holds, if it is neither a user of the machine nor of Spark's UI."""


@dataclass(frozen=True, slots=True)
class PlacedText:
    """
    A string and its place.

    :param name: the name of the place in messages
    :param key: the text's key in Spark's configuration; the name again if it has none
    :param cluster: the name of the only cluster that has it; empty if all have it that have no other under its key
    """

    name: str
    key: str
    text: str = field(repr=False)
    cluster: str = ""


def placed_texts(texts: Mapping[str, str]) -> list[PlacedText]:
    """Return the strings of a configuration, or other strings by name, each with its place."""
    return [PlacedText(name, name, text) for name, text in texts.items()]


def refuse_exposed(texts: Iterable[PlacedText], providers: Collection[str], secrets: Collection[str] = ()) -> None:
    """
    Make sure that other people cannot read a value.

    :param providers: the names of the providers that are defined
    :param secrets: keys with a sealed secret
    :raises ExposedValueError: other people could read a value
    """
    exposed = filter(exposed_keys.is_exposed, secrets)
    problems = (_problem(printable(key), "its secret", _ELSEWHERE, readers=_readers(key)) for key in exposed)
    refuse(ExposedValueError, [*problems, *(problem for _, problem in exposed_texts([*texts], providers, secrets))])


def refuse_added(added: Iterable[PlacedText]) -> None:
    """
    Make sure that other people cannot read a value that the code of an operator has put under a key.

    :param added: strings with a value
    :raises ExposedValueError: other people could read one
    """
    found = (item for item in added if exposed_keys.is_exposed(item.key, item.text))
    value = "the value that the code of the operator has put there"
    refuse(
        ExposedValueError,
        (_problem(printable(item.name), value, _way_out(item), readers=_readers(item.key)) for item in found),
    )


def exposed_texts(
    texts: Collection[PlacedText], providers: Collection[str], secrets: Collection[str] = ()
) -> Iterator[tuple[PlacedText, str]]:
    """Yield each string in which other people could read a value, with the reason; see ``refuse_exposed``."""
    for item in texts:
        if _is_in_command(item) or exposed_keys.is_exposed(item.key, item.text):
            for variable in dict.fromkeys(variables(item.text)):
                if variable.provider in providers:
                    value = f"the value of {printable(str(variable))}"
                    yield item, _problem(printable(item.name), value, _way_out(item), readers=_readers(item.key))
    for item, key in substituted_secrets(texts, providers, secrets):
        yield item, put_in_problem(item.name, key)


def _way_out(item: PlacedText) -> str:
    for label in (item.name, item.key):  # that of a variable is its name, and that of a command its key
        if way := _WAYS_OUT.get(field_of(label)):
            return way
    return "Pass it through conf" if _is_in_command(item) else _ELSEWHERE


def _readers(key: str) -> str:
    return next((readers for prefix, readers in _READERS.items() if key.startswith(prefix)), _ANYONE)


def _problem(place: str, value: str, way_out: str, *, readers: str = _ANYONE) -> str:
    return f"{place}: {value} would be readable {readers}. {way_out}, or set allow_exposed_arguments=True."


def _replaced(key: str) -> str:
    return f"Spark replaces {printable(key)} in it by its secret, which"


def substituted_secrets(
    texts: Collection[PlacedText], providers: Collection[str], secrets: Collection[str]
) -> Iterator[tuple[PlacedText, str]]:
    """Yield each string that Spark shows, with a key whose secret Spark puts into it, in any of the clusters."""
    if any(map(_can_show_another, texts)):
        groups = (_of_cluster(name, texts) for name in dict.fromkeys(["", *(item.cluster for item in texts)]))
        yield from dict.fromkeys(pair for group in groups for pair in _substituted_in(group, providers, secrets))


def _can_show_another(item: PlacedText) -> bool:
    return "${" in item.text and exposed_keys.is_exposed(item.key, item.text)


def _of_cluster(name: str, texts: Iterable[PlacedText]) -> dict[str, PlacedText]:
    """Return key -> the string that a cluster has; that of a cluster without strings of its own for the empty name."""
    shared = {item.key: item for item in texts if not item.cluster}
    return {**shared, **{item.key: item for item in texts if item.cluster == name}}


def _substituted_in(
    texts: Mapping[str, PlacedText], providers: Collection[str], secrets: Collection[str]
) -> Iterator[tuple[PlacedText, str]]:
    refers = (key for key, item in texts.items() if refers_to(item.text, providers))
    if not (secret := {*secrets, *refers}):
        return
    put_in = Substitutions({key: item.text for key, item in texts.items()})
    for item in filter(_can_show_another, texts.values()):
        yield from ((item, key) for key in put_in.secrets_in(item.key, item.text, secret, label_of=_label_of))


def refuse_shown(layered: LayeredConfig) -> None:
    """
    Make sure that dynamic and run configuration does not have Spark show a secret that is written out.

    An author may do so, but permission to change a configuration is not permission to read its secrets.

    :raises ExposedValueError: it does
    """
    shown = ((layered.place(key), name) for key, name in _shown_secrets(layered))
    refuse(ExposedValueError, (_problem(place, _replaced(name), "Remove it") for place, name in shown))


def put_in_secrets(layered: LayeredConfig, providers: Collection[str]) -> set[tuple[str, str]]:
    """Return (key, other key) if Spark shows the key's string with the other's secret in it, which a run refuses."""
    found = substituted_secrets(placed_texts(layered.settled), providers, layered.secrets)
    return {*((item.key, key) for item, key in found), *_shown_secrets(layered)}


def put_in_problem(key: str, secret: str) -> str:
    """Return what is wrong with a pair of ``put_in_secrets``."""
    return _problem(printable(key), _replaced(secret), "Remove it")


def _shown_secrets(layered: LayeredConfig) -> Iterator[tuple[str, str]]:
    """Yield each key that others than the author wrote, with a key whose written-out secret it has Spark show."""
    steered = {key for key, text in layered.settled.items() if "${" in text and layered.source(key).is_steered}
    if not steered:
        return
    secrets = {key for key, text in layered.settled.items() if layered.is_secret(key, text)}
    put_in = _put_in(layered.settled) if secrets else {}
    shown = {key for key in put_in if exposed_keys.is_exposed(key, layered.settled[key])}
    shown |= {name for key in shown for name in put_in[key]}
    for key in sorted(shown & put_in.keys() & steered):
        yield from ((key, name) for name in sorted(secrets.intersection(put_in[key])))


def _put_in(configs: Mapping[str, str]) -> dict[str, Collection[str]]:
    """Return key -> the keys whose values Spark or Hadoop puts into its own, for each key that has any."""
    put_in = Substitutions(configs)
    return {key: put_in.configured_in(key, text) for key, text in configs.items() if "${" in text}


def _label_of(name: str) -> str:
    """Return where a job has what Spark names so: ``env_vars['NAME']`` for ``env:NAME``, or the key itself."""
    prefix, _, variable = name.partition(":")
    return label_below("env_vars", variable) if prefix == "env" else name


def refuse_referring_words(labels: Collection[str], written: Mapping[str, str], providers: Collection[str]) -> None:
    """
    Make sure that no string that is split into words, or read as a program, has a reference to a provider.

    :param labels: the labels of such strings, or of lists of them
    :param written: label -> string with references
    :param providers: the names of the providers that are defined
    :raises ExposedValueError: strings do; all of them are reported
    """
    words = _words(labels, written)
    found = (label for label, text in words.items() if refers_to(text, providers))
    refuse(ExposedValueError, map(_readable_word, found))


def refuse_broken_words(
    labels: Collection[str], *, written: Mapping[str, str], values: Mapping[str, str], allow_exposed: bool
) -> None:
    """
    Make sure that values do not change how a string is split into words, or read as a program.

    :param labels: the labels of such strings, or of lists of them
    :param written: label -> string with references
    :param values: label -> string with values
    :raises ExposedValueError: values do, or would be readable by others; all such strings are reported
    """
    changed = [label for label, text in _words(labels, written).items() if values.get(label, text) != text]
    if not allow_exposed:
        refuse(ExposedValueError, map(_readable_word, changed))
    broken = (label for label in changed if _marks(values[label]) != _marks(_left(written[label], values[label])))
    refuse(ExposedValueError, map(_broken_word, broken))


def _words(labels: Collection[str], written: Mapping[str, str]) -> dict[str, str]:
    """Return the strings that have one of ``labels``, or are an item of a list that has one."""
    return {label: text for label, text in written.items() if label in labels or label.rpartition("[")[0] in labels}


def _readable_word(label: str) -> str:
    return (
        f"{printable(label)}: the values of its references would be readable by others. Pass them through the Spark "
        f"configuration, or the environment of a command, or set allow_exposed_arguments=True."
    )


def _broken_word(label: str) -> str:
    return (
        f"{printable(label)}: a value has characters that would change the meaning of the surrounding text. Pass it "
        f"through the Spark configuration, or the environment of a command."
    )


def _marks(text: str) -> list[str]:
    """Return the characters of a string that have a special meaning in a command or a program, in their order."""
    return [character for character in text if character not in _SAFE]


def _left(written: str, value: str) -> str:
    """Return what ``value`` has of ``written``: all but its references, except those that were not replaced."""
    spans, end, parts = scan(written), 0, []
    for span in spans:
        reference = written[span[0] : span[1]]
        parts += [written[end : span[0]], reference if reference in value else ""]
        end = span[1]
    return "".join([*parts, written[end:]])


def _is_in_command(item: PlacedText) -> bool:
    """Return whether a string is in a field that is an argument of spark-submit, which ``application_id`` is not."""
    return field_of(item.key) in IN_COMMAND


_CONNECTION: Final = "Write the ID of the connection."
_OTHER: Final = (
    "Write the value itself if it is no secret; otherwise move it to a template field, or to the connection."
)

_TEXTLESS: Final = frozenset({type(None), bool, int, float})
"""The types of most attributes."""

_OF_AIRFLOW: Final = "_BaseOperator__"
"""The beginning of the names under which Airflow keeps what is its own, such as a copy of all arguments."""


def unresolved_arguments(
    operator: Any, resolved: Iterable[str], *, keeps_unresolved: bool = False
) -> Iterator[tuple[str, str]]:
    """
    Yield each argument that has a reference which is not resolved, with what to do.

    Only IDs of connections, and the parameters of classes of Airflow's own providers, are checked: a user's class can
    resolve its own parameters. What Spark or a shell replaces is no reference, except in the ID of a connection.

    :param resolved: the attributes, besides template fields, whose references are resolved
    :param keeps_unresolved: whether references that nothing resolves are left as they are
    """
    values = vars(operator)
    known = {name.lstrip("_") for name in (*operator.template_fields, *resolved)}  # an operator can also keep a copy
    others = [
        (argument, value)
        for name, value in values.items()
        if type(value) not in _TEXTLESS and not name.startswith(_OF_AIRFLOW)
        if (argument := name.lstrip("_")) not in known
    ]
    held = {argument: found for argument, value in others if (found := list(_references(value)))}
    parameters = _parameters(type(operator)) if held and not keeps_unresolved else frozenset()
    for argument in sorted(held):
        is_connection = argument.endswith("conn_id")
        if is_connection or (argument in parameters and not all(map(_is_foreign, held[argument]))):
            way_out = _CONNECTION if is_connection else _OTHER
            yield argument, f"{printable(argument)}: a reference is not resolved here. {way_out}"


def _references(value: object) -> Iterator[ConfigVariable]:
    """Yield the references in the strings of collections; an object of a class may do with its own what it wants."""
    for text in strings(value):
        yield from variables(text) if "${" in text else ()


def _is_foreign(variable: ConfigVariable) -> bool:
    """Return whether Spark replaces ``variable``, or a shell does: a reference has no default."""
    return variable.provider in SUBSTITUTED_BY_SPARK or bool(no_default(variable))


def _parameters(kind: type) -> frozenset[str]:
    """Return the parameters of those classes among ``kind`` and its bases that are in Airflow's own providers."""
    import inspect  # noqa: PLC0415 - for a mistake only

    classes = [one for one in kind.__mro__ if one.__module__.startswith("airflow.providers.")]
    return frozenset(name for one in classes for name in inspect.signature(one).parameters)
