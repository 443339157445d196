"""The values of a deployment that the audit searches for, and the stores of objects in which it searches."""

from __future__ import annotations

import math
import pickle
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import nullcontext, suppress
from dataclasses import dataclass, field
from typing import Any, Final

from airflow_config_providers import settings
from airflow_config_providers.core.lookup import Answers, Lookup
from airflow_config_providers.core.named_file import lines_of
from airflow_config_providers.core.provider_definition import unknown_provider
from airflow_config_providers.core.storage_url import S3
from airflow_config_providers.core.text import counted, first_of, printable
from airflow_config_providers.core.variable import ConfigVariable, is_like, variables
from airflow_config_providers.deployment.records import reading, recent_tries, stored_record
from airflow_config_providers.exceptions import ConfigException, ConfigProvidersError, system_reason
from airflow_config_providers.job.hook_connection import handed_to_hooks
from airflow_config_providers.job.providers import deployment_registry
from airflow_config_providers.job.records.files import PACKAGES, RecordFiles, is_known_to_fsspec
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
from airflow_config_providers.spark.audit.leaks.object_clients import FsspecObjects, S3Objects
from airflow_config_providers.spark.audit.leaks.object_store import Objects, ObjectStore, StoredPath, is_stored
from airflow_config_providers.spark.audit.leaks.sought import Sought
from airflow_config_providers.spark.audit.session import Tick

_PACKAGES: Final = {**PACKAGES, **dict.fromkeys(S3, (PACKAGES["s3"][0], "boto3"))}
"""As ``PACKAGES``; but audits read S3 with boto3."""
_OTHER_NAMES: Final = {"az": "abfs", "wasb": "abfs", "wasbs": "abfss"}
"""What the provider packages of Airflow call a scheme."""


class _UnknownSchemeError(Exception):
    """No package that is installed has a scheme. Its message says which one would."""


def stores_of(paths: Iterable[str]) -> list[ObjectStore]:
    """
    Return the stores that ``paths`` are in; none for paths in the file system.

    Without a connection in its path, each machine reads a store with credentials of its own.

    :raises ConfigException: a path is wrong, its connection cannot be used, or a package is missing
    :raises ConfigProvidersError: its connection cannot be read; as ``handed_to_hooks`` raises
    """
    parsed = [StoredPath.parse(path) for path in paths if is_stored(path)]
    return [ObjectStore(root, _objects(one)) for root, one in {one.root: one for one in parsed}.items()]


def _objects(path: StoredPath) -> Objects:
    """
    Return the objects in the store of ``path``, in a form that can be sent to executors.

    :raises ConfigException: its connection cannot be used, or a package is missing
    :raises ConfigProvidersError: its connection cannot be read; as ``handed_to_hooks`` raises
    """
    kind: type[ConfigProvidersError] = ConfigException
    try:
        with handed_to_hooks(path.connection) if path.connection else nullcontext():
            found = _of_s3(path) if path.scheme in S3 else _of_fsspec(path)
        pickle.dumps(found)
    except ImportError as error:
        problem = _missing(path.scheme, error)
    except _UnknownSchemeError as error:
        problem = str(error)
    except ConfigProvidersError as error:
        kind, problem = type(error), " ".join(error.problems)  # what can answer later is tried again
    except Exception as error:  # noqa: BLE001 - clients raise what they like, with credentials in it
        problem = f"it cannot be opened ({type(error).__name__}). Correct the path or its connection."
    else:
        return found
    raise kind(f"{printable(path.root)}: {problem}")


def _of_s3(path: StoredPath) -> Objects:
    import boto3  # noqa: F401, PLC0415 - listing objects needs it, and an error here names it

    return S3Objects(path.host, _of_connection(path.connection) if path.connection else {})


def _of_connection(conn_id: str) -> Mapping[str, Any]:
    """Return the options of a client of S3, with the credentials that a connection has now."""
    from airflow.providers.amazon.aws.hooks.base_aws import AwsGenericHook  # noqa: PLC0415 - few need it

    hook: Any = AwsGenericHook(aws_conn_id=conn_id, client_type="s3")
    session = hook.get_session()
    keys = session.get_credentials()
    options = {
        "region_name": session.region_name,
        "endpoint_url": hook.conn_config.get_service_endpoint_url("s3"),
        "verify": hook.verify,
        "config": hook.config,
    }
    if keys is not None:
        now = keys.get_frozen_credentials()
        options |= {
            "aws_access_key_id": now.access_key,
            "aws_secret_access_key": now.secret_key,
            "aws_session_token": now.token,
        }
    return options


def _of_fsspec(path: StoredPath) -> Objects:
    from fsspec.core import strip_protocol, url_to_fs  # noqa: PLC0415 - as above

    url = f"{path.scheme}://{path.host}/"
    if not path.connection:
        if not is_known_to_fsspec(path.scheme):
            raise _UnknownSchemeError(_unknown_to_fsspec(path.scheme))
        return FsspecObjects(*url_to_fs(url))
    from airflow.sdk.io import get_fs, has_fs  # noqa: PLC0415 - as above

    if not has_fs(path.scheme):
        raise _UnknownSchemeError(_unknown_to_airflow(path.scheme))
    return FsspecObjects(get_fs(path.scheme, path.connection), strip_protocol(url))


def _unknown_to_fsspec(scheme: str) -> str:
    if scheme in _OTHER_NAMES:
        return f"fsspec has no {scheme}://. Write {_OTHER_NAMES[scheme]}:// in its place."
    package = _PACKAGES[scheme][1] if scheme in _PACKAGES else "that makes it known to fsspec"
    return f"{scheme}:// needs the package {package}. Install it here and on the executors, or correct the path."


def _unknown_to_airflow(scheme: str) -> str:
    if scheme in _OTHER_NAMES:
        return f"no connection of Airflow opens {scheme}://. Write {_OTHER_NAMES[scheme]}:// in its place."
    if scheme not in _PACKAGES:
        return (
            f"no provider package of Airflow that is installed opens {scheme}://. Write the path without a connection, "
            "or install one that does."
        )
    airflow, package = _PACKAGES[scheme]
    return f"a connection for {scheme}:// needs the package {airflow}. Install it here, and {package} on the executors."


def _missing(scheme: str, error: ImportError) -> str:
    from fsspec.registry import known_implementations  # noqa: PLC0415 - as above

    if (error.name or "").startswith("airflow.providers"):
        return _unknown_to_airflow(scheme)
    known = "" if scheme in S3 else str(known_implementations.get(scheme, {}).get("class", ""))
    package = known.partition(".")[0] or error.name or "for it"
    return f"{scheme}:// needs the package {package}. Install it here and on the executors."


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
