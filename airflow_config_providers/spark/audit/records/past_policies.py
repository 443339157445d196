"""Asks policies about past tries in executors of Spark, which have no files of the deployment, and no Airflow."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from airflow_config_providers.core.layers import ConfigLayer, ConfigSource
from airflow_config_providers.core.policy import RequestMetadata, judged
from airflow_config_providers.core.resource import ConfigResource
from airflow_config_providers.core.sensitive import HIDDEN
from airflow_config_providers.core.variable import variables
from airflow_config_providers.dynamic.policies import PolicySet
from airflow_config_providers.dynamic.policies.classes import PolicyClasses
from airflow_config_providers.dynamic.policies.policy_file import PolicyEntry, read_policies
from airflow_config_providers.exceptions import ConfigException, ConfigProvidersError
from airflow_config_providers.spark.audit.records.policy_audit import Verdict
from airflow_config_providers.spark.policy_request import policy_request


@dataclass(frozen=True, slots=True)
class PastPolicies:
    """
    Policies that can travel to executors.

    :param entries: the policies as written in their file
    :param allowed_classes: the classes that the deployment allows
    """

    entries: Sequence[PolicyEntry] = field(repr=False)
    allowed_classes: Collection[str] = ()

    @classmethod
    def read(cls, path: str, allowed_classes: Collection[str]) -> PastPolicies:
        """
        Return the policies of a file, which are opened once to see that they can be.

        :raises ConfigException: the file is wrong; lists all problems
        """
        entries, problems = read_policies(path)
        with PolicySet.of_entries(entries, PolicyClasses(allowed_classes), problems=problems):
            return cls(entries, allowed_classes)

    def verdicts(self, records: Iterable[Any]) -> Iterator[Verdict]:
        """Yield the denials and warnings of the policies about ``records``, which have the columns of ``RecordRow``."""
        try:
            policies = PolicySet.of_entries(self.entries, PolicyClasses(self.allowed_classes))
        except ConfigProvidersError as error:
            yield Verdict(problem=" ".join(error.problems))
            return
        with policies:
            for record in records:
                yield from _of_record(policies, record)


def _of_record(policies: PolicySet, record: Any) -> Iterator[Verdict]:
    of = {"dag": record.dag, "task": record.task, "run": record.run, "at": record.at, "file": record.file}
    try:
        request = request_of(record)
    except ConfigException as error:
        problem = " ".join(error.problems)
    except Exception as error:  # noqa: BLE001 - others write records, and the error can quote one
        problem = f"It is no configuration ({type(error).__name__})."
    else:
        problem = ""
    if problem:
        yield Verdict(**of, problem=problem)
        return
    for named in policies:
        said = judged([named], request)
        for one in (*said.denials, *said.warnings)[:1]:
            yield Verdict(**of, policy=named.name, reason=one.text, enforcement=named.enforcement.value)


def request_of(record: Any) -> RequestMetadata:
    """
    Return what policies would have seen of a try when it was rendered.

    References outside of its configuration, such as those in arguments, are there as strings of their own. A record
    does not say whether a plaintext secret has changed; it is taken for a change.

    :raises ConfigException: a layer is of a kind that this version does not know
    """
    found = list(_layers(record.configs))
    in_configs = {str(one) for layer in found for text in layer.configs.values() for one in variables(text)}
    others = sorted(record.references.keys() - in_configs)
    texts = {f"reference {number}": reference for number, reference in enumerate(others, 1)}
    resource = ConfigResource.of_task(record.dag, record.task)
    return policy_request(resource, found, texts, spark_version=record.versions.get("spark"))


def _layers(configs: Iterable[Any]) -> Iterator[ConfigLayer]:
    """
    Yield layers that settle as those of the record did.

    A kind of layer can be there several times, such as files: the strongest value of a key goes into the last of them.
    """
    by_source: dict[ConfigSource, list[dict[str, Any]]] = defaultdict(list)
    seen: dict[tuple[str, str], int] = defaultdict(int)
    for one in sorted(configs, key=lambda one: one.rank):
        level = seen[one.source, one.key]
        seen[one.source, one.key] += 1
        of_source = by_source[_source(one.source)]
        of_source += [{}] * (level + 1 - len(of_source))
        of_source[level] = {**of_source[level], one.key: one}
    for source, levels in by_source.items():
        yield from (_layer(source, values) for values in reversed(levels))


def _source(name: str) -> ConfigSource:
    if name not in ConfigSource.__members__:
        raise ConfigException(f"It has a layer {name!a}, which this version of airflow-config-providers does not know.")
    return ConfigSource[name]


def _layer(source: ConfigSource, values: Mapping[str, Any]) -> ConfigLayer:
    configs = {key: HIDDEN if one.value is None else one.value for key, one in values.items()}
    origins = {key: one.origin for key, one in values.items()}
    secrets = {key: _no_secret for key, one in values.items() if one.value is None}
    return ConfigLayer(source, source.name, configs, origins, secrets)


def _no_secret() -> str:
    """Refuse: a record has no secrets, and no policy asks for one."""
    raise ConfigException("A record has no secrets.")
