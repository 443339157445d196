"""Airflow's backends of AWS: how many requests they need, and what becomes of errors."""

from __future__ import annotations

import base64
import logging
import math
import threading
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import pytest

from airflow_config_providers.core.layers import ConfigLayer, ConfigSource
from airflow_config_providers.core.lookup import Answers, FetchOptions, Lookup
from airflow_config_providers.core.resolver import ConfigResolver
from airflow_config_providers.exceptions import AccessDeniedError, ConfigException, ProviderUnavailableError
from airflow_config_providers.providers import SecretsBackendConfigProvider
from airflow_config_providers.providers.aws_batch import STORES, AwsBatch, AwsStore
from airflow_config_providers.testing import FakeClock

pytest.importorskip("moto", reason="install the extra moto")
pytest.importorskip("airflow.providers.amazon", reason="install the extra aws")

from tests.limits import LONGEST
from tests.servers.aws import AwsServer, serve_aws

SECRETS_MANAGER = "airflow.providers.amazon.aws.secrets.secrets_manager.SecretsManagerBackend"
PARAMETER_STORE = "airflow.providers.amazon.aws.secrets.systems_manager.SystemsManagerParameterStoreBackend"

PARSERS = logging.getLogger("botocore.parsers")


@pytest.fixture
def aws(monkeypatch: pytest.MonkeyPatch) -> Iterator[AwsServer]:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "test")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "test")
    monkeypatch.setenv("AWS_MAX_ATTEMPTS", "1")
    PARSERS.setLevel(logging.NOTSET)
    with serve_aws() as server:
        yield server
    PARSERS.setLevel(logging.NOTSET)


Configure = Callable[..., SecretsBackendConfigProvider]


@pytest.fixture
def configured(aws: AwsServer) -> Configure:
    def configure(backend: str, **kwargs: Any) -> SecretsBackendConfigProvider:
        provider = SecretsBackendConfigProvider()
        kwargs = {"endpoint_url": aws.address, "region_name": "eu-west-1", **kwargs}
        provider.configure({"backend": backend, "backend_kwargs": kwargs})
        return provider

    return configure


def fetch(provider: SecretsBackendConfigProvider, *places: str, attempts: int = 1) -> Answers:
    """Ask for ``path:key`` each."""
    wanted: dict[tuple[str, str], set[str]] = {}
    for place in places:
        path, _, key = place.rpartition(":")
        wanted.setdefault(("sm", path), set()).add(key)
    return Lookup({"sm": provider}, FetchOptions(attempts=attempts), sleep=FakeClock().sleep).fetch(wanted)


def values(answers: Answers) -> dict[str, str]:
    assert not answers.failures
    return {f"{path}:{key}": value for (_, path), data in answers.data.items() for key, value in data.items()}


def failures(answers: Answers) -> dict[str, type[Exception]]:
    for error in answers.failures.values():
        assert error.__cause__ is error.__context__ is None
        assert "c4nary" not in str(error)
    return {path: type(error) for (_, path), error in answers.failures.items()}


@pytest.mark.parametrize(("count", "requests"), [(1, 0), (2, 1), (20, 1), (21, 1), (100, 5)])
@pytest.mark.parametrize("path", ["", "variables"])
def test_secrets_of_one_path_take_a_request_for_twenty(aws, configured, path, count, requests):
    names = [f"s{n}" for n in range(count)]
    aws.put_secrets(**{f"airflow__variables__{name}": f"text of {name}" for name in names})

    found = values(fetch(configured(SECRETS_MANAGER), *(f"{path}:{name}" for name in names)))

    assert found == {f"{path}:{name}": f"text of {name}" for name in names}
    assert aws.reads == Counter(BatchGetSecretValue=requests, GetSecretValue=count % 20 if count % 20 == 1 else 0)


@pytest.mark.parametrize("kind", ["variables", "connections"])
def test_secrets_of_many_paths_take_a_request_for_twenty(aws, configured, kind):
    names = [f"s{n}" for n in range(100)]
    aws.put_secrets(**{f"airflow__{kind}__{name}": f'{{"password": "pw of {name}"}}' for name in names})

    found = values(fetch(configured(SECRETS_MANAGER), *(f"{kind}/{name}:password" for name in names)))

    assert found == {f"{kind}/{name}:password": f"pw of {name}" for name in names}
    assert aws.reads == Counter(BatchGetSecretValue=5)


@pytest.mark.parametrize(("count", "requests"), [(2, 1), (10, 1), (100, 10)])
@pytest.mark.parametrize("path", ["{}:{}", "variables/{}:password"], ids=["one path", "many paths"])
def test_parameters_take_a_request_for_ten(aws, configured, path, count, requests):
    names = [f"p{n}" for n in range(count)]
    aws.put_parameters(**{f"airflow__variables__{name}": f'{{"password":"pw of {name}"}}' for name in names})
    places = [f":{name}" if path == "{}:{}" else path.format(name) for name in names]

    found = values(fetch(configured(PARAMETER_STORE), *places))

    assert all(f"pw of {name}" in found[place] for name, place in zip(names, places, strict=True))
    assert aws.reads == Counter(GetParameters=requests)


@pytest.mark.parametrize(("backend", "page"), [(SECRETS_MANAGER, 20), (PARAMETER_STORE, 10)])
@pytest.mark.parametrize(
    "count", [1, 10, 11, *(pytest.param(count, marks=pytest.mark.slow) for count in (20, 21, 100))]
)
@pytest.mark.parametrize("reference", ["${{sm:{}}}", "${{sm:variables/{}:password}}"], ids=["one path", "many paths"])
def test_a_task_pays_a_request_for_each_page(aws, configured, backend, page, count, reference):
    names = [f"n{n}" for n in range(count)]
    put = aws.put_secrets if backend == SECRETS_MANAGER else aws.put_parameters
    put(**{f"airflow__variables__{name}": f'{{"password":"pw of {name}"}}' for name in names})
    layer = ConfigLayer(
        ConfigSource.DAG_CONFIG, "conf", {f"spark.app.{name}": reference.format(name) for name in names}
    )

    found = ConfigResolver({"sm": configured(backend)}).resolve([layer]).configs()

    assert all(f"pw of {name}" in found[f"spark.app.{name}"] for name in names)
    assert sum(aws.reads.values()) == math.ceil(count / page)


def test_pages_are_read_side_by_side_after_the_first_which_makes_the_client():
    others = threading.Barrier(4)

    def read_many(_: Any, ids: Sequence[str]) -> dict[str, str]:
        if "0" not in ids:
            others.wait(LONGEST)
        return {id_: f"text {id_}" for id_ in ids}

    class Backend:
        client = None

        def ask(self, id_: str) -> str | None:
            raise NotImplementedError

    batch = AwsBatch(Backend(), AwsStore("ask", page=2, read_one=lambda _, id_: id_, read_many=read_many))

    found = batch.read({id_: lambda backend, id_=id_: backend.ask(id_) for id_ in "0123456789"})

    assert found == {id_: f"text {id_}" for id_ in "0123456789"}


def test_one_secret_asked_for_in_several_ways_is_read_once(aws, configured):
    aws.put_secrets(airflow__variables__a='{"x": "1", "y": "2"}', airflow__variables__b="B")

    found = values(fetch(configured(SECRETS_MANAGER), "variables/a:x", "variables/a:y", ":a", "variables:a", ":b"))

    assert found["variables/a:x"] == "1"
    assert found[":a"] == found["variables:a"] == '{"x": "1", "y": "2"}'
    assert aws.reads == Counter(BatchGetSecretValue=1)


def test_kinds_are_read_together(aws, configured):
    aws.put_secrets(
        airflow__variables__v="V",
        airflow__connections__c="postgres://u:pw@h/db",
        airflow__config__sql_alchemy_conn="url",
    )
    provider = configured(SECRETS_MANAGER)
    provider.configure(
        {
            "backend": SECRETS_MANAGER,
            "backend_kwargs": {"endpoint_url": aws.address, "region_name": "eu-west-1"},
            "allowlist.pattern": "v|c|sql_alchemy_conn",
        }
    )

    found = values(fetch(provider, ":v", "connections/c:password", "connections/c:schema", "config:sql_alchemy_conn"))

    assert set(found.values()) == {"V", "pw", "db", "url"}
    assert aws.reads == Counter(BatchGetSecretValue=1)


def test_the_settings_of_the_backend_count(aws, configured):
    aws.put_secrets(
        **{"team-spark_a": "A", "team-other": "O", "conns-c": '{"user": "u", "pass": "pw", "engine": "mysql"}'}
    )
    provider = configured(
        SECRETS_MANAGER, variables_prefix="team", connections_prefix="conns", sep="-", variables_lookup_pattern="spark_"
    )

    answers = fetch(provider, ":spark_a", ":other", "connections/c:login", "connections/c:conn_type")

    assert values(answers) == {":spark_a": "A", "connections/c:login": "u", "connections/c:conn_type": "mysql"}


def test_without_a_prefix_nothing_is_asked_for(aws, configured):
    provider = configured(SECRETS_MANAGER, variables_prefix=None)

    assert values(fetch(provider, ":a", ":b", "variables/c:x")) == {}
    assert aws.reads == Counter()


@pytest.mark.parametrize("backend", [SECRETS_MANAGER, PARAMETER_STORE])
def test_what_is_not_there_is_missing(aws, configured, backend):
    provider = configured(backend)

    assert values(fetch(provider, ":a", ":b", "variables/c:x", "connections/d:password")) == {}
    assert values(fetch(provider, ":a")) == {}
    assert sum(aws.reads.values()) == 2


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("AccessDeniedException", AccessDeniedError),
        ("DecryptionFailure", ProviderUnavailableError),
        ("InvalidRequestException", ProviderUnavailableError),
        ("InternalServiceError", ProviderUnavailableError),
        ("c4nary", ProviderUnavailableError),
    ],
)
def test_one_secret_that_is_refused_spoils_no_other(aws, configured, code, expected):
    aws.put_secrets(airflow__variables__a='{"k":"A"}', airflow__variables__b='{"k":"B"}')
    aws.refuse("airflow/variables/b", code)

    answers = fetch(configured(SECRETS_MANAGER), "variables/a:k", "variables/b:k")

    assert answers.data == {("sm", "variables/a"): {"k": "A"}}
    assert failures(answers) == {"variables/b": expected}
    assert aws.reads == Counter(BatchGetSecretValue=1)


def test_parameters_that_are_refused_for_the_sake_of_one_are_asked_for_alone(aws, configured):
    aws.put_parameters(**{f"airflow__variables__p{n}": '{"k":"v"}' for n in range(5)})
    aws.refuse("/airflow/variables/p3")

    answers = fetch(configured(PARAMETER_STORE), *(f"variables/p{n}:k" for n in range(5)))

    assert len(answers.data) == 4
    assert failures(answers) == {"variables/p3": AccessDeniedError}
    assert aws.reads == Counter(GetParameters=1, GetParameter=5)


def test_where_only_single_reads_are_allowed_they_are_made(aws, configured):
    aws.put_secrets(**{f"airflow__variables__s{n}": "v" for n in range(25)})
    aws.fail("BatchGetSecretValue", "AccessDeniedException", 400, times=-1)

    found = values(fetch(configured(SECRETS_MANAGER), *(f":s{n}" for n in range(25))))

    assert len(found) == 25
    assert aws.reads == Counter(BatchGetSecretValue=2, GetSecretValue=25)


@pytest.mark.parametrize(
    ("action", "backend"), [("BatchGetSecretValue", SECRETS_MANAGER), ("GetParameters", PARAMETER_STORE)]
)
def test_with_expired_credentials_no_secret_is_asked_for_alone(aws, configured, action, backend):
    aws.fail(action, "ExpiredTokenException", 400, times=-1)

    answers = fetch(configured(backend), *(f"variables/s{n}:k" for n in range(5)))

    assert failures(answers) == {f"variables/s{n}": AccessDeniedError for n in range(5)}
    assert aws.reads == Counter({action: 1})


def test_with_expired_credentials_the_way_out_is_about_them(aws, configured):
    aws.put_secrets(airflow__variables__a="A")
    aws.refuse("airflow/variables/b", "ExpiredTokenException")

    together, alone = fetch(configured(SECRETS_MANAGER), ":a", ":b"), fetch(configured(SECRETS_MANAGER), ":b")

    for answers in (together, alone):
        (error,) = answers.failures.values()
        assert "(ExpiredTokenException). The credentials with which this process asks AWS are wrong" in str(error)


@pytest.mark.parametrize("others", [(), (":b",)], ids=["alone", "among others"])
def test_without_credentials_the_way_out_is_about_them(configured, monkeypatch, tmp_path, others):
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_PROFILE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")

    (error,) = fetch(configured(SECRETS_MANAGER), ":a", *others).failures.values()

    assert isinstance(error, ProviderUnavailableError)
    assert "(NoCredentialsError). This process has no credentials with which it can ask AWS" in str(error)


class Sparse:
    """A client whose server leaves empty lists out, as botocore then does too."""

    def batch_get_secret_value(self, SecretIdList: Sequence[str]) -> dict[str, Any]:  # noqa: N803 - as AWS names it
        return {}

    def get_parameters(self, Names: Sequence[str], WithDecryption: bool) -> dict[str, Any]:  # noqa: N803 - as above
        return {}


@pytest.mark.parametrize("backend", [SECRETS_MANAGER, PARAMETER_STORE])
def test_lists_that_are_left_out_of_an_answer_are_empty(backend):
    assert STORES[backend].read_many(Sparse(), ["a", "b"]) == {}


@pytest.mark.parametrize(
    ("action", "backend"), [("BatchGetSecretValue", SECRETS_MANAGER), ("GetParameters", PARAMETER_STORE)]
)
@pytest.mark.parametrize(("code", "status"), [("ThrottlingException", 400), ("InternalServiceError", 500), ("x", 503)])
def test_a_store_that_is_busy_is_asked_again_and_not_harder(aws, configured, action, backend, code, status):
    aws.put_secrets(airflow__variables__a='{"k":"A"}', airflow__variables__b='{"k":"B"}')
    aws.put_parameters(airflow__variables__a='{"k":"A"}', airflow__variables__b='{"k":"B"}')
    aws.fail(action, code, status, times=2)

    answers = fetch(configured(backend), "variables/a:k", "variables/b:k", attempts=3)

    assert set(values(answers).values()) == {"A", "B"}
    assert aws.reads == Counter({action: 3})


def test_a_store_that_stays_busy_is_unavailable(aws, configured):
    aws.fail("BatchGetSecretValue", "ThrottlingException", 400, times=-1)

    answers = fetch(configured(SECRETS_MANAGER), "variables/a:k", "variables/b:k", attempts=3)

    assert failures(answers) == dict.fromkeys(("variables/a", "variables/b"), ProviderUnavailableError)
    assert "SecretsManagerBackend could not return 2 secrets (ThrottlingException)" in str(
        answers.failures["sm", "variables/a"]
    )
    assert aws.reads == Counter(BatchGetSecretValue=3)


def test_a_store_that_is_not_there_is_unavailable(aws, configured):
    answers = fetch(configured(SECRETS_MANAGER, endpoint_url="http://127.0.0.1:1"), ":a", "variables/b:k")

    assert failures(answers) == {"": ProviderUnavailableError, "variables/b": ProviderUnavailableError}
    assert "EndpointConnectionError" in str(answers.failures["sm", ""])


@pytest.mark.parametrize("others", [(), (":text",)], ids=["alone", "among others"])
def test_binary_is_base64_and_says_so(aws, configured, caplog, others):
    aws.put_secrets(airflow__variables__Blob=b"\x00\xffkey", airflow__variables__text="text")

    with caplog.at_level(logging.INFO):
        found = values(fetch(configured(SECRETS_MANAGER), ":Blob", *others))

    assert base64.b64decode(found[":Blob"]) == b"\x00\xffkey"
    assert "Secret 'airflow/variables/Blob' is binary: its value is returned as base64." in caplog.messages
    assert found[":Blob"] not in caplog.text


def test_a_name_that_is_not_allowed_spoils_no_other_and_is_not_asked_for(aws, configured):
    aws.put_secrets(airflow__variables__a='{"k":"A"}')
    provider = configured(SECRETS_MANAGER)
    provider.configure(
        {
            "backend": SECRETS_MANAGER,
            "backend_kwargs": {"endpoint_url": aws.address, "region_name": "eu-west-1"},
            "allowlist.pattern": "a",
        }
    )

    answers = fetch(provider, "variables/a:k", "variables/b:k", "nonsense:x")

    assert failures(answers) == {"variables/b": AccessDeniedError, "nonsense": ConfigException}
    assert aws.reads == Counter(GetSecretValue=1)


def test_a_text_that_is_no_object_spoils_no_other(aws, configured):
    aws.put_secrets(airflow__variables__a='{"k":"A"}', airflow__variables__b="c4nary")

    answers = fetch(configured(SECRETS_MANAGER), "variables/a:k", "variables/b:k")

    assert len(answers.data) == 1
    assert failures(answers) == {"variables/b": ConfigException}


def test_a_connection_that_makes_no_sense_spoils_no_other(aws, configured):
    aws.put_secrets(airflow__connections__a='{"user":"u"}', airflow__connections__b='{"c4nary": ')

    answers = fetch(configured(SECRETS_MANAGER), "connections/a:login", "connections/b:password")

    assert len(answers.data) == 1
    assert failures(answers) == {"connections/b": ProviderUnavailableError}


def test_a_level_that_the_deployment_has_set_stays(configured):
    PARSERS.setLevel(logging.DEBUG)

    values(fetch(configured(SECRETS_MANAGER), ":a"))

    assert PARSERS.level == logging.DEBUG


def test_debug_logs_hold_no_value(aws, configured, caplog):
    aws.put_secrets(airflow__variables__a="c4nary-a", airflow__variables__b="c4nary-b")
    aws.put_parameters(airflow__variables__a="c4nary-c")

    with caplog.at_level(logging.DEBUG):
        values(fetch(configured(SECRETS_MANAGER), ":a", ":b"))
        values(fetch(configured(SECRETS_MANAGER), ":a"))
        values(fetch(configured(PARAMETER_STORE), ":a"))

    assert "botocore" in caplog.text
    assert "c4nary" not in caplog.text


class OwnReads:
    """Mixed into Airflow's class: asks in a way of its own."""

    def _get_secret_value(self, secret_id: str, secrets_path: str) -> str:
        return f"own {secrets_path}"


def test_a_class_that_asks_in_a_way_of_its_own_is_left_to_it(aws):
    from airflow.providers.amazon.aws.secrets.secrets_manager import SecretsManagerBackend

    backend = type("Own", (OwnReads, SecretsManagerBackend), {})()
    provider = SecretsBackendConfigProvider(lambda: backend)
    provider.configure({})

    assert set(values(fetch(provider, ":a", "variables:b")).values()) == {
        "own airflow/variables/a",
        "own airflow/variables/b",
    }
    assert aws.reads == Counter()


def test_a_class_that_only_names_secrets_differently_is_read_together(aws):
    from airflow.providers.amazon.aws.secrets.secrets_manager import SecretsManagerBackend

    class Renaming(SecretsManagerBackend):
        def get_variable(self, key: str, team_name: str | None = None) -> str | None:
            return super().get_variable(f"app-{key}", team_name)

    aws.put_secrets(**{"airflow__variables__app-a": "A", "airflow__variables__app-b": "B"})
    backend = Renaming(endpoint_url=aws.address, region_name="eu-west-1")
    provider = SecretsBackendConfigProvider(lambda: backend)
    provider.configure({})

    assert values(fetch(provider, ":a", ":b")) == {":a": "A", ":b": "B"}
    assert aws.reads == Counter(BatchGetSecretValue=1)
