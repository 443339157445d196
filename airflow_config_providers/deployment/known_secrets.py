"""The values of the references of a deployment, which the audit searches for."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Final

from airflow_config_providers import settings
from airflow_config_providers.core.lookup import Answers, Lookup
from airflow_config_providers.core.named_file import lines_of
from airflow_config_providers.core.provider_definition import unknown_provider
from airflow_config_providers.core.text import counted, first_of, printable
from airflow_config_providers.core.variable import ConfigVariable, is_like, variables
from airflow_config_providers.deployment.object_stores import stores_of
from airflow_config_providers.deployment.records import reading, recent_tries, stored_record
from airflow_config_providers.exceptions import ConfigException, ConfigProvidersError, system_reason
from airflow_config_providers.job.providers import deployment_registry
from airflow_config_providers.job.records.files import RecordFiles
from airflow_config_providers.job.sealed_values import deployment_key
from airflow_config_providers.spark.audit.leaks.fingerprint import (
    DIGEST_BITS,
    FingerprintKey,
    read_fingerprints,
    write_fingerprints,
)
from airflow_config_providers.spark.audit.leaks.leak_audit import LeakRequest, audit_leaks, no_tick
from airflow_config_providers.spark.audit.leaks.leak_finder import KnownSecret, searchable
from airflow_config_providers.spark.audit.leaks.leak_report import LeakReport
from airflow_config_providers.spark.audit.leaks.sought import Sought
from airflow_config_providers.spark.audit.session import Tick

FINGERPRINTS: Final = ("airflow_config_providers", "fingerprints of values")
"""What the key is for that is derived from the deployment's secret."""

_LARGEST: Final = 64 * 1024 * 1024
"""The most characters of a file with references."""

_NO_KEY: Final = (
    "Fingerprints need a key, which is derived from [config_providers] password_encoder_secret. Set it, to the same "
    "secret wherever fingerprints are written and searched for."
)


@dataclass(frozen=True, slots=True)
class KnownSecrets:
    """
    The values of references.

    :param secrets: the values
    :param problems: why references have no value, a sentence for each
    :param excepted: references that were left out, as no secrets
    :param no_secrets: their values, as far as they are known
    """

    secrets: Collection[KnownSecret] = field(repr=False)
    problems: Sequence[str] = ()
    excepted: Sequence[str] = ()
    no_secrets: Collection[KnownSecret] = field(default=(), repr=False)


def references_in_file(path: str, option: str = "--references") -> list[ConfigVariable]:
    """
    Return the references in a file, whatever else is in it.

    :param option: the option that names the file, for the message
    :raises ConfigException: the file cannot be read, or has no reference
    """
    try:
        lines = lines_of(path, largest=_LARGEST, longest=_LARGEST + 1)
        found = [one for line in lines if not line.startswith("#") for one in variables(line)]
    except (OSError, UnicodeDecodeError) as error:
        problem = system_reason(error)
    else:
        if found:
            return list(dict.fromkeys(found))
        problem = "it has no reference"
    raise ConfigException(f"{option} {printable(path)}: {problem}. Name a file with references, one a line.")


def references_of_records() -> list[ConfigVariable]:
    """
    Return the references in the records of all tries: in Airflow's database, and below ``records_path``.

    :raises ProviderUnavailableError: the database or the files are unavailable
    """

    def read(session: Any) -> dict[str, None]:
        found = (stored_record(session, one.task) for one in recent_tries(session))
        return dict.fromkeys(text for record in found if record for text in record.references)

    texts = reading(read)
    return list(dict.fromkeys((*_variables_in(texts), *references_in_files())))


def references_in_files() -> list[ConfigVariable]:
    """
    Return the references in the records below ``records_path``, which a task can read; none if that is not set.

    :raises ProviderUnavailableError: the files are unavailable
    """
    path = settings.records_path()
    return _variables_in(dict.fromkeys(RecordFiles(path).references() if path else ()))


def without_excepted(references: Iterable[ConfigVariable], excepted: Sequence[str]) -> list[ConfigVariable]:
    """Return the references that no pattern of ``excepted`` matches."""
    return [one for one in dict.fromkeys(references) if not any(is_like(str(one), pattern) for pattern in excepted)]


def resolved_secrets(
    references: Iterable[ConfigVariable], definitions: Mapping[str, Any], *, excepted: Sequence[str] = ()
) -> KnownSecrets:
    """
    Return the values of ``references``, asked for once for each provider and path.

    The providers that answer are asked once more, for the values of excepted references. If they do not say one, that
    is no problem: it may be excepted because the audit has no right to read it, and must not spoil the first answer.

    :param definitions: ``config.providers`` and the keys below it
    :param excepted: patterns of references that are no secrets
    :raises ConfigException: the list of providers cannot be read
    """
    named = list(dict.fromkeys(references))
    wanted = without_excepted(named, excepted)
    left = set(named).difference(wanted)
    with deployment_registry().on_demand(definitions) as providers:
        known = [one for one in wanted if one.provider in providers]
        unknown = {one.provider: one for one in wanted if one.provider not in providers}
        problems = [unknown_provider(one, providers) for one in unknown.values()]
        secrets, no_secrets = list[KnownSecret](), list[KnownSecret]()
        for name in dict.fromkeys(one.provider for one in known):
            found = _of_provider([one for one in known if one.provider == name], providers)
            secrets += found.secrets
            problems += found.problems
            others = [one for one in named if one in left and one.provider == name]
            if others and found.secrets:
                no_secrets += _of_provider(others, providers).secrets
    return KnownSecrets(secrets, problems, [str(one) for one in named if one in left], no_secrets)


def search_for(
    known: KnownSecrets, request: LeakRequest, tell: Callable[[str], None], *, tick: Tick = no_tick
) -> LeakReport:
    """
    Search files for the values of references.

    :param tell: is called with a sentence for each reference whose value is not searched for
    :param tick: as for ``audit_leaks``
    :raises ConfigException: there is nothing to search for, or the request cannot be used
    :raises ProviderUnavailableError: the connection of a path cannot be read now
    """
    request.require_local()
    stores = stores_of(request.paths)
    for problem in known.problems:
        tell(problem)
    secrets, short = searchable(known.secrets)
    for reference in short:
        tell(f"{printable(reference)}: its value is too short or too common to be searched for.")
    sought = _sought(secrets, request, no_secrets=searchable(known.no_secrets)[0])
    if not sought and (known.problems or not request.state):  # a state can have fingerprints of earlier values
        raise ConfigException("There is no value to search for.", *known.problems)
    report = audit_leaks(request, sought, stores=stores, tick=tick)
    report.unresolved = known.problems
    for note in (*report.notes, *_limits(report), *_in_vain(known, report)):
        tell(note)
    return report


def fingerprint_key() -> FingerprintKey | None:
    """
    Return the key of this deployment's fingerprints; None if ``password_encoder_secret`` is not set.

    :raises ConfigException: the secret could be guessed
    """
    secret = settings.password_encoder_secret()
    return FingerprintKey(deployment_key(secret, *FINGERPRINTS)) if secret else None


def _sought(secrets: Sequence[KnownSecret], request: LeakRequest, *, no_secrets: Sequence[KnownSecret]) -> Sought:
    """Return what to search for, and write the fingerprints that are wanted."""
    key = _key_for(request)
    sought = Sought(secrets, key=key, tokens=request.tokens, excepted=request.excepted, no_secrets=no_secrets)
    if not request.fingerprints and not request.write_fingerprints:
        return sought
    if key is None:
        raise ConfigException(_NO_KEY)
    sought = sought.with_fingerprints(one for path in request.fingerprints for one in read_fingerprints(path, key))
    if request.write_fingerprints:
        written = [one for one in sought.all_fingerprints() if not sought.excepts(one.reference)]
        write_fingerprints(request.write_fingerprints, written, key)
    return sought


def _key_for(request: LeakRequest) -> FingerprintKey | None:
    """
    Return the key of fingerprints; None if there is none.

    :raises ConfigException: the request needs it, and the secret that it is derived from cannot be used
    """
    if request.fingerprints or request.write_fingerprints or request.state:
        return fingerprint_key()
    with suppress(ConfigException):
        return fingerprint_key()
    return None  # a baseline then accepts less


def _limits(report: LeakReport) -> Iterator[str]:
    """Yield what a search for fingerprints misses, and how often it is wrong, if there was one."""
    if count := len(report.sought.fingerprints):
        references = len({one.reference for one in report.sought.fingerprints})
        rarity = int(DIGEST_BITS * math.log10(2) - math.log10(count * max(1, report.octets)))
        yield (
            f"Values of {counted(references, 'reference')} were searched for by their fingerprints, which finds whole "
            f"values in one encoding, but not values that are cut, coloured, or broken over lines. The chance of a "
            f"false leak in such an audit is less than 1 in 10^{rarity}."
        )


def _in_vain(known: KnownSecrets, report: LeakReport) -> Iterator[str]:
    """Yield the patterns of exceptions that match nothing, which can be a mistake."""
    names = {*known.excepted, *(one.reference for one in report.sought.spare)}
    for pattern in report.sought.excepted:
        if not any(is_like(name, pattern) for name in names):
            yield f"No reference is like '{printable(pattern)}', so nothing is excepted by it."


def _variables_in(texts: Iterable[str]) -> list[ConfigVariable]:
    return list(dict.fromkeys(one for text in texts for one in variables(text)))


def _of_provider(references: Collection[ConfigVariable], providers: Mapping[str, Any]) -> KnownSecrets:
    places: dict[tuple[str, str], set[str]] = defaultdict(set)
    for one in references:
        places[one.provider, one.path].add(one.key)
    try:
        answers = Lookup(providers, settings.fetch_options()).fetch(places)
    except ConfigProvidersError as error:
        return KnownSecrets((), error.problems)
    values = {one: answers.value(one.provider, one.path, one.key) for one in references}
    problems = list(_failures(references, answers))
    missing = [
        one for one, value in values.items() if value is None and (one.provider, one.path) not in answers.failures
    ]
    problems += [f"{printable(str(one))} has no value now, so it is not searched for." for one in missing]
    return KnownSecrets([KnownSecret(one, value) for one, value in values.items() if value is not None], problems)


def _failures(references: Iterable[ConfigVariable], answers: Answers) -> Iterator[str]:
    """Yield each problem once, with the references that it affects."""
    affected: dict[str, list[str]] = defaultdict(list)
    for one in references:
        if error := answers.failures.get((one.provider, one.path)):
            for problem in _problems(error):
                affected[problem].append(str(one))
    for problem, names in affected.items():
        yield f"{first_of(names)}: {problem}"


def _problems(error: Exception) -> Collection[str]:
    if isinstance(error, ConfigProvidersError):
        return error.problems
    return (f"The provider failed ({type(error).__name__}).",)  # its message could hold a value
