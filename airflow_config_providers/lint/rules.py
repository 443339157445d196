"""The rules: mistakes in a key, a value or a reference, secrets written as they are, and values without effect."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Final

from airflow_config_providers.core.definition.config_type import ConfigType
from airflow_config_providers.core.keys import current_name, key_problem, older_names
from airflow_config_providers.core.provider_definition import unknown_provider
from airflow_config_providers.core.sensitive import shows_secret
from airflow_config_providers.core.templates import is_known_only_in_run, is_template, without_templates
from airflow_config_providers.core.text import counted, grouped, printable
from airflow_config_providers.core.variable import (
    NOT_NESTED,
    ConfigVariable,
    beside_references,
    is_nested,
    no_default,
    odd_references,
    unclosed,
    variables,
)
from airflow_config_providers.job.exposed_values import PlacedText, exposed_texts
from airflow_config_providers.job.nested_texts import field_of
from airflow_config_providers.lint.entry import LayerFile, WrittenEntry, WrittenJob
from airflow_config_providers.lint.finding import (
    ABSENT_KEY,
    DEAD_OVERRIDE,
    DEPRECATED_KEY,
    EXPOSED,
    IGNORED_KEY,
    LITERAL_SECRET,
    MALFORMED,
    MISSPELT_KEY,
    REFUSED_KEY,
    REPEATED_KEY,
    TAKEN_FOR_VALUE,
    UNCONFIGURED,
    UNKNOWN,
    UNRESOLVED,
    UNSTORABLE,
    WRONG_TYPE,
    Finding,
)
from airflow_config_providers.lint.known_providers import KnownProviders, form_problem
from airflow_config_providers.spark.catalogue import spark_definition
from airflow_config_providers.spark.known_keys import UnknownKeys, absent, find_in
from airflow_config_providers.spark.named_arguments import IN_COMMAND
from airflow_config_providers.spark.substitutions import SUBSTITUTED_BY_SPARK

_AFTER_COLON: Final = ("-", "=", "?", "+")
"""What a shell has after a variable and a colon: a default, or what else to do if the variable is not set."""


def key_findings(
    entry: WrittenEntry, misspelt: UnknownKeys, *, takes_any_key: bool = False, spark_version: str | None = None
) -> Iterator[Finding]:
    """
    Yield the mistakes in the key of an entry, and in the type of its value.

    :param misspelt: what the deployment does with misspelt keys
    :param takes_any_key: whether the job also gets keys that do not begin with ``spark.``
    :param spark_version: the version of the Spark that runs the job; None if it is not known
    """
    if refused := key_problem(entry.key, f"'{printable(entry.key)}'"):
        yield Finding(REFUSED_KEY, entry.place, str(refused))
        return
    only_doubts = UnknownKeys.WARN if misspelt is UnknownKeys.FAIL else misspelt  # problems are keys that Spark ignores
    found = find_in({entry.key: entry.origin}, only_doubts, takes_any_key=takes_any_key)
    yield from (Finding(IGNORED_KEY, entry.place, problem) for problem in found.problems)
    yield from (Finding(MISSPELT_KEY, entry.place, doubt) for doubt in found.doubts)
    yield from _deprecated_findings(entry, spark_version)
    if misspelt is not UnknownKeys.IGNORE:
        yield from (
            Finding(ABSENT_KEY, entry.place, doubt) for doubt in absent({entry.key: entry.origin}, spark_version)
        )
    yield from _type_findings(entry, spark_version)


def _deprecated_findings(entry: WrittenEntry, spark_version: str | None) -> Iterator[Finding]:
    new = current_name(entry.key, older_names())
    if new != entry.key and not absent({new: ""}, spark_version):
        yield Finding(DEPRECATED_KEY, entry.place, f"{entry.name} is deprecated. Use '{printable(new)}'.")


def _type_findings(entry: WrittenEntry, spark_version: str | None) -> Iterator[Finding]:
    definition = spark_definition(spark_version)
    if entry.key not in definition.config_keys or is_known_only_in_run(entry.text):
        return
    for reason in definition.misfit_reasons(entry.key, entry.text):
        yield Finding(WRONG_TYPE, entry.place, f"{entry.name} has a value that is not valid for this key. {reason}.")


def refused_findings(job: WrittenJob) -> Iterator[Finding]:
    """Yield a finding for each value and reference that Airflow or the run of a configured task refuses or doubts."""
    if job.is_configured:
        yield from (Finding(WRONG_TYPE, entry.place, entry.text) for entry in job.refused)
        yield from (Finding(UNRESOLVED, entry.place, entry.text) for entry in job.unresolved)
        yield from (Finding(TAKEN_FOR_VALUE, entry.place, entry.text) for entry in job.taken_for_values)
        yield from (Finding(UNSTORABLE, entry.place, entry.text) for entry in job.unstorable)


_NAMES_ONLY: Final = re.compile(
    r"spark\.kubernetes\.(?:driver|executor)\.(?:secrets|secretKeyRef)\."
    r"|.*(?:(?:file|path|provider|provider\.uri|GOOGLE_APPLICATION_CREDENTIALS)(?:['\"]\])?\Z|provider\.type\b)",
    re.IGNORECASE | re.DOTALL,
)
"""Sensitive names whose values are names of Kubernetes' secrets, paths, addresses or classes."""

_NO_SECRET: Final = re.compile(r"\s*(?:true|false|arn:\S*)?\s*", re.IGNORECASE)
"""Nothing, a switch, or the name of a resource of AWS, such as a key that never leaves its store."""

_VARIABLE: Final = re.compile(
    r"(?:env_vars\[['\"]|spark\.(?:executorEnv|yarn\.appMasterEnv|kubernetes\.driverEnv)\.)(?P<name>.+?)(?:['\"]\])?",
    re.DOTALL,
)
"""A key that sets an environment variable."""

_DESCRIBES: Final = re.compile(r".*(?<![a-z])(?:name|ur[li]|ttl|header|enabled|policy|arn)", re.IGNORECASE | re.DOTALL)
"""A variable that says something about a secret, such as where it is, and does not hold it."""

_COUNTS_TOKENS: Final = re.compile(r"tokenizers.*|.*tokens", re.IGNORECASE | re.DOTALL)
"""A variable about the tokens of a language model, if its value is a number."""

_SWITCH_OR_NUMBER: Final = re.compile(r"\s*(?:yes|no|on|off|[0-9]{1,5})\s*", re.IGNORECASE)
"""A switch, or a number that is too short for a secret."""

_HOLDS: Final = re.compile(r".*(?:password|passwd|pwd|passphrase|pin)", re.IGNORECASE | re.DOTALL)
"""A variable whose number can be a secret all the same."""

_COUNT: Final = re.compile(r"\s*[0-9]{1,9}\s*")


def literal_findings(entry: WrittenEntry) -> Iterator[Finding]:
    """Yield a finding if the value of an entry is a secret; it says how long the value is, and nothing else of it."""
    if not _is_secret(entry.key, entry.text):
        return
    length = counted(len(entry.text), "character")
    where = " in conf" if field_of(entry.key) in IN_COMMAND else ""
    yield Finding(
        LITERAL_SECRET,
        entry.place,
        f"{entry.name}: a string of {length} looks like a secret. Keep it outside, and write a reference such as "
        f"${{provider:path:key}}{where}.",
    )


def _is_secret(key: str, text: str) -> bool:
    if is_known_only_in_run(text):
        return shows_secret(beside_references(without_templates(text)))
    if shows_secret(text):
        return True
    is_value = not (_NO_SECRET.fullmatch(text) or _NAMES_ONLY.match(key) or has_other_type(key))
    return is_value and not _is_ordinary_variable(key, text) and spark_definition().is_secret(key, "")


def _is_ordinary_variable(key: str, text: str) -> bool:
    """Return whether ``key`` sets an environment variable that only has the name of a secret, or part of it."""
    found = _VARIABLE.fullmatch(key)
    if not found:
        return False
    is_short = _SWITCH_OR_NUMBER.fullmatch(text) and not _HOLDS.fullmatch(found["name"])
    if is_short or _DESCRIBES.fullmatch(found["name"]):
        return True
    return bool(_COUNTS_TOKENS.fullmatch(found["name"]) and _COUNT.fullmatch(text))


def has_other_type(key: str) -> bool:
    """Return whether Spark reads a switch, a number, a list, a size or a time under the key."""
    known = spark_definition().config_keys.get(key)
    return known is not None and (known.type not in {ConfigType.STRING, ConfigType.PASSWORD} or bool(known.type_name))


def reference_findings(
    entry: WrittenEntry, known: KnownProviders | None, *, is_resolved: bool = True
) -> Iterator[Finding]:
    """
    Yield the mistakes in the references of an entry.

    :param known: the providers that are defined; None if that is unknown
    :param is_resolved: whether each reference must have a value; otherwise, something else can replace it
    """
    if provider := unclosed(entry.text):
        yield Finding(MALFORMED, entry.place, f"{entry.name}: {_UNCLOSED.format(printable(provider))}")
    for problem in odd_references(entry.text):
        yield Finding(MALFORMED, entry.place, f"{entry.name}: {problem}")
    for variable in variables(entry.text):
        if variable.provider in SUBSTITUTED_BY_SPARK and not (known and variable.provider in known.names):
            continue
        if problem := _form_problem(variable) or (_problem_of_class(variable, known) if is_resolved else ""):
            yield Finding(MALFORMED, entry.place, f"{entry.name}: {problem}")
        elif known is not None and variable.provider not in known.names:
            problem = unknown_provider(variable, known.names, unlisted=known.unlisted, home=known.home)
            yield Finding(UNKNOWN, entry.place, f"{entry.name}: {problem}")


_UNCLOSED: Final = "a reference to provider '{}' lacks the closing brace. Write it as ${{provider:path:key}}."


def _form_problem(variable: ConfigVariable) -> str:
    """Return what is wrong with the form of a reference. A default, or what is nested, can be a secret: not shown."""
    provider = printable(variable.provider)
    if is_nested(variable.text):
        return f"a reference contains another one. {NOT_NESTED}"
    if not provider.strip():
        return "a reference names no provider. Write it as ${provider:path:key}."
    if hint := no_default(variable):
        return f"a reference to provider '{provider}' has a default. {hint}"
    if variable.provider != variable.provider.strip():
        return f"a reference has a blank beside its provider '{provider}'. Remove the blank."
    if not variable.key:
        return f"a reference to provider '{provider}' has no key. Write it as ${{provider:path:key}}."
    return ""


def _problem_of_class(variable: ConfigVariable, known: KnownProviders | None) -> str:
    """Return why the class of the provider never answers a reference of this form, which no template completes."""
    problem = "" if is_template(variable.text) else form_problem(variable, known)
    return f"a reference to provider '{printable(variable.provider)}' can have no value: {problem}" if problem else ""


def names_provider(entry: WrittenEntry) -> bool:
    """Return whether a reference of an entry is one that Spark does not replace itself."""
    return any(variable.provider not in SUBSTITUTED_BY_SPARK for variable in variables(entry.text))


def unconfigured_findings(job: WrittenJob) -> Iterator[Finding]:
    """Yield the references in a job whose operator does not resolve them."""
    if job.is_configured:
        return
    for entry in (*job.entries(), *job.texts):
        if names_provider(entry):
            yield Finding(
                UNCONFIGURED,
                entry.place,
                f"{entry.name}: nothing resolves its reference, because this package does not configure the operator. "
                f"Use a configured operator, or set apply_to in [config_providers].",
            )


def unknown_operator_findings(text: WrittenEntry, known: KnownProviders | None) -> Iterator[Finding]:
    """
    Yield whether a string of a task whose operator nothing configures refers to a provider that is known.

    Such a string can be a program with ``${...}`` of its own: only a provider's name shows that it is none.
    """
    if known and any(_refers(variable, known) for variable in variables(text.text)):
        yield Finding(
            UNCONFIGURED,
            text.place,
            f"'{printable(text.key)}': nothing resolves its reference, because apply_to does not configure "
            f"{printable(text.origin)}. Create the task with configured({_class_of(text.origin)}).",
        )


def could_refer(text: WrittenEntry) -> bool:
    """Return whether a string of such a task could refer to a provider, if one had the right name."""
    return any(map(_could_refer, variables(text.text)))


def _refers(variable: ConfigVariable, known: KnownProviders) -> bool:
    return variable.provider in known.names and _could_refer(variable)


def _could_refer(variable: ConfigVariable) -> bool:
    """Return whether this is neither what Spark replaces nor a slice or a default as in a shell."""
    is_slice = variable.key.strip().lstrip("-").isdigit()
    has_default = (variable.path or variable.key).startswith(_AFTER_COLON)
    return variable.provider not in SUBSTITUTED_BY_SPARK and not is_slice and not has_default


def _class_of(operator: str) -> str:
    """Return the class to configure in place of ``operator``, which can be that of a decorator."""
    return re.sub(r"^_(\w+?)Decorated(?=Operator$)", r"\1", printable(operator))


def exposed_findings(job: WrittenJob, known: KnownProviders | None) -> Iterator[Finding]:
    """
    Yield the references of a job that its run refuses, because other people could read their values.

    :param known: the providers that are defined; None if that is unknown
    """
    if not job.is_configured or job.keeps_unresolved or job.allows_exposed:
        return
    places = {PlacedText(entry.name, entry.key, entry.text, cluster): entry.place for entry, cluster in _placed(job)}
    named = {variable.provider for item in places for variable in variables(item.text)}
    providers = named & known.names if known else named - set(SUBSTITUTED_BY_SPARK)
    yield from (Finding(EXPOSED, places[item], problem) for item, problem in exposed_texts(places, providers))


def _placed(job: WrittenJob) -> Iterator[tuple[WrittenEntry, str]]:
    """Yield the strings that a run has, each with the number of the cluster that has it; empty if all can."""
    winners = {entry.key: entry for layer in job.layers for entry in layer}
    own = [{entry.key for entry in cluster} for cluster in job.clusters]
    beaten = set.intersection(*own) if own else set()
    yield from ((entry, "") for entry in [*winners.values(), *job.texts] if entry.key not in beaten)
    yield from ((entry, str(number)) for number, cluster in enumerate(job.clusters) for entry in cluster)


def is_read_by_other_jobs(file: LayerFile, jobs: Iterable[WrittenJob]) -> bool:
    """Return whether a job names the file that can get keys that do not begin with ``spark.``."""
    real = os.path.realpath(file.path)
    return any(job.takes_any_key and real in map(os.path.realpath, job.files) for job in jobs)


def repeated_findings(file: LayerFile) -> Iterator[Finding]:
    """Yield a finding for each key that a file sets more than once, at the last of its lines."""
    for key, entries in grouped((entry.key, entry) for entry in file.entries).items():
        if len(entries) > 1:
            lines = ", ".join(str(entry.place.line) for entry in entries)
            yield Finding(REPEATED_KEY, entries[-1].place, f"'{printable(key)}' is set in lines {lines}. Keep one.")


def dead_findings(
    jobs: Iterable[WrittenJob],
    files: Sequence[LayerFile],
    of_deployment: Iterable[str],
    *,
    spark_version: str | None = None,
) -> Iterator[Finding]:
    """
    Yield the entries that lose in every job that reads them.

    :param of_deployment: the paths of the layer files that every job reads, weakest first
    :param spark_version: the version of Spark that says which names are the same key; None for the newest one
    """
    winners: dict[WrittenEntry, WrittenEntry] = {}
    alive: set[WrittenEntry] = set()
    older = spark_definition(spark_version).older_names
    current_last = partial(sorted, key=lambda entry: entry.key not in older)  # the current name of a key beats an older
    for layers in _layers_of_jobs(jobs, files, of_deployment):
        named = [(current_name(entry.key, older), entry) for layer in layers for entry in current_last(layer)]
        strongest = dict(named)
        alive.update(strongest.values())
        winners.update({entry: strongest[name] for name, entry in named})
    yield from (_dead_finding(loser, winner) for loser, winner in winners.items() if loser not in alive)


def _layers_of_jobs(
    jobs: Iterable[WrittenJob], files: Sequence[LayerFile], of_deployment: Iterable[str]
) -> Iterator[list[tuple[WrittenEntry, ...]]]:
    """Yield the layers of each job, weakest first, of which only those files are known that were given."""
    last = {os.path.realpath(file.path): {entry.key: entry for entry in file.entries} for file in files}
    by_path = {path: tuple(entries.values()) for path, entries in last.items()}
    base = _known(by_path, of_deployment)
    for job in jobs:
        if job.is_configured:
            yield [*base, *_known(by_path, job.files), *job.layers]


def _known(files: Mapping[str, tuple[WrittenEntry, ...]], paths: Iterable[str]) -> list[tuple[WrittenEntry, ...]]:
    return [files[real] for path in paths if (real := os.path.realpath(path)) in files]


def _dead_finding(loser: WrittenEntry, winner: WrittenEntry) -> Finding:
    scope = "" if loser.origin else " in the tasks that were checked"
    other = "" if winner.key == loser.key else f"'{printable(winner.key)}' in "
    problem = f"{loser.name} has no effect{scope}: {other}{_place_of(winner)} overrides it. Remove one of them."
    return Finding(DEAD_OVERRIDE, loser.place, problem)


def _place_of(winner: WrittenEntry) -> str:
    if winner.origin:
        return printable(f"{winner.origin} of {winner.place.task}")
    return printable(f"{winner.place.path}:{winner.place.line}")
