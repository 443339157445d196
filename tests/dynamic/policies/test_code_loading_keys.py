"""The names that ready policies know are those of the installed Spark: a new version that has more makes these fail."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest

from airflow_config_providers.core.keys import older_names
from airflow_config_providers.dynamic.policies import CODE_LOADING_KEYS
from airflow_config_providers.dynamic.policies.code_loading_keys import code_loading_names
from airflow_config_providers.dynamic.policies.spark_keys import KeyPatterns
from airflow_config_providers.spark.catalogue_file import versions
from tests.project_tools import imported_tool

ROOT = Path(__file__).parents[3]
NAMES = code_loading_names()
AGAIN = "run tools/generate_policy_names.py, as its docstring says"
OF_FILE_SYSTEMS = (
    "fs.abfs.impl",
    "fs.abfss.impl",
    "fs.azure.account.keyprovider",
    "fs.azure.account.oauth.provider.type",
    "fs.azure.account.oauth2.client.assertion.provider.type",
    "fs.azure.delegation.token.provider.type",
    "fs.azure.encryption.context.provider.type",
    "fs.azure.identity.transformer.class",
    "fs.azure.sas.token.provider.type",
    "fs.azure.shellkeyprovider.script",
    "fs.s3a.assumed.role.credentials.provider",
    "fs.s3a.audit.execution.interceptors",
    "fs.s3a.audit.service.classname",
    "fs.s3a.aws.credentials.provider",
    "fs.s3a.aws.credentials.provider.mapping",
    "fs.s3a.custom.signers",
    "fs.s3a.encryption.cse.custom.keyring.class.name",
    "fs.s3a.http.signer.class",
    "fs.s3a.impl",
    "fs.s3a.input.stream.custom.factory",
    "fs.s3a.metadatastore.impl",
    "fs.s3a.s3.client.factory.impl",
    "fs.s3a.security.credential.provider.path",
)
"""Keys of S3A and ABFS, whose jars PySpark does not include, that patterns for families fit."""


@pytest.fixture(scope="module")
def tool() -> Iterator[Any]:
    pytest.importorskip("pyspark", reason="pip install pyspark")
    with imported_tool("generate_policy_names") as found:
        yield found


@pytest.fixture(scope="module")
def jvm(tool: Any, errors_of_py4j_itself: None) -> Iterator[Any]:
    gateway = tool.launch_gateway()
    yield gateway.jvm
    gateway.shutdown()
    gateway.proc.communicate()


def unknown(names: Iterable[str]) -> list[str]:
    """Return those of ``names`` that no pattern fits."""
    known = KeyPatterns(CODE_LOADING_KEYS)
    return sorted(name for name in names if not known.match(name))


@pytest.mark.slow
@pytest.mark.integration
def test_every_key_of_spark_that_loads_code_is_known(tool: Any, jvm: Any) -> None:
    assert unknown(tool.spark_keys(jvm)) == [], AGAIN


@pytest.mark.slow
@pytest.mark.integration
def test_every_key_of_hadoop_that_loads_code_is_known(tool: Any) -> None:
    names = tool.hadoop_keys(tool._hadoop_jars())

    assert unknown([*names, *(f"spark.hadoop.{name}" for name in names)]) == [], AGAIN


@pytest.mark.slow
@pytest.mark.integration
def test_every_older_name_is_known(tool: Any, jvm: Any) -> None:
    assert tool.older_names(jvm).items() - older_names().items() == set(), AGAIN


@pytest.mark.integration
def test_what_is_harmless_is_denied_by_no_name(tool: Any) -> None:
    assert not {*NAMES.spark, *NAMES.hadoop} & tool.HARMLESS.keys()


def test_the_names_are_those_of_the_pinned_pyspark() -> None:
    assert NAMES.made_of[0] in (ROOT / "constraints.txt").read_text().splitlines()
    assert NAMES.made_of[0].removeprefix("pyspark==") in versions().values()


def test_the_file_systems_that_pyspark_leaves_out_are_there() -> None:
    assert {"hadoop-aws", "hadoop-azure"} <= {source.partition("==")[0] for source in NAMES.made_of}


def test_a_pattern_fits_every_generated_name() -> None:
    hadoop = [*NAMES.hadoop, *OF_FILE_SYSTEMS]

    assert unknown([*NAMES.spark, *hadoop, *(f"spark.hadoop.{name}" for name in hadoop)]) == []


def test_no_name_is_generated_that_a_family_has() -> None:
    families = KeyPatterns(NAMES.patterns())

    assert families.matching(NAMES.spark) == []
    assert not [name for name in NAMES.hadoop if families.match(name) and families.match(f"spark.hadoop.{name}")]


def test_no_older_name_is_a_current_one() -> None:
    """But for one that was renamed twice, of which each reads the one before."""
    assert older_names().keys() & set(older_names().values()) == {"spark.yarn.max.executor.failures"}
