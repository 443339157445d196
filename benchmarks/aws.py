"""The requests and the time that it takes to read secrets from AWS."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any

import boto3
import structlog
from airflow.providers.amazon.aws.secrets.secrets_manager import SecretsManagerBackend
from airflow.providers.amazon.aws.secrets.systems_manager import SystemsManagerParameterStoreBackend
from moto.server import ThreadedMotoServer

from airflow_config_providers.core import ConfigLayer, ConfigResolver, ConfigSource, ProviderRegistry
from benchmarks.measure import Aim, Effort, Report, number
from tests.servers.front import Front
from tests.servers.upstream import Upstream
from tests.servers.web import WebServer

OURS = "**ours**"
SECRETS = 100
DELAY = 20
KEYS = [f"k{n}" for n in range(SECRETS)]
CREDENTIALS = {"region_name": "eu-west-1", "aws_access_key_id": "id", "aws_secret_access_key": "key"}


@dataclass(frozen=True)
class Store:
    """
    A secret store of AWS.

    :param backend: Airflow's class for it
    :param limit: the most requests for 100 secrets that we promise
    :param put: stores a variable where the backend looks for it, given client and key
    :param get: returns values with one request by hand, given client and keys
    """

    name: str
    service: str
    backend: type
    limit: int
    put: Callable[[Any, str], object]
    get: Callable[[Any, Sequence[str]], dict[str, str]]


def put_secret(client: Any, key: str) -> None:
    client.create_secret(Name=f"airflow/variables/{key}", SecretString=f"value {key}")


def get_secrets(client: Any, keys: Sequence[str]) -> dict[str, str]:
    answer = client.batch_get_secret_value(SecretIdList=[f"airflow/variables/{key}" for key in keys])
    return {secret["Name"].rpartition("/")[2]: secret["SecretString"] for secret in answer["SecretValues"]}


def put_parameter(client: Any, key: str) -> None:
    client.put_parameter(Name=f"/airflow/variables/{key}", Value=f"value {key}", Type="SecureString")


def get_parameters(client: Any, keys: Sequence[str]) -> dict[str, str]:
    answer = client.get_parameters(Names=[f"/airflow/variables/{key}" for key in keys], WithDecryption=True)
    return {found["Name"].rpartition("/")[2]: found["Value"] for found in answer["Parameters"]}


STORES = (
    Store("Secrets Manager", "secretsmanager", SecretsManagerBackend, 5, put_secret, get_secrets),
    Store("Parameter Store", "ssm", SystemsManagerParameterStoreBackend, 10, put_parameter, get_parameters),
)


@contextmanager
def aws() -> Iterator[Front]:
    """Start moto's server behind a proxy that counts requests."""
    logging.getLogger("werkzeug").setLevel(logging.ERROR)  # it would log each request
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.ERROR))  # and Airflow each client
    moto = ThreadedMotoServer("127.0.0.1", port=0, verbose=False)
    moto.start()
    host, port = moto.get_host_and_port()
    try:
        yield Front(Upstream(f"http://{host}:{port}"))
    finally:
        moto.stop()


def ours(store: Store, kwargs: dict[str, str]) -> list[str]:
    path = f"{store.backend.__module__}.{store.backend.__qualname__}"
    definitions = {
        "config.providers": "aws",
        "config.providers.aws.class": "secrets_backend",
        "config.providers.aws.param.backend": path,
        "config.providers.aws.param.backend_kwargs": json.dumps(kwargs),
    }
    layer = ConfigLayer(ConfigSource.DAG_CONFIG, "conf", {f"spark.app.{key}": f"${{aws:{key}}}" for key in KEYS})
    with ProviderRegistry().open(definitions) as providers:
        found = ConfigResolver(providers).resolve([layer]).configs()
    return [found[f"spark.app.{key}"] for key in KEYS]


def airflows(store: Store, kwargs: dict[str, str]) -> list[str]:
    backend = store.backend(**kwargs)
    return [backend.get_variable(key) for key in KEYS]


def by_hand(store: Store, kwargs: dict[str, str]) -> list[str]:
    client = boto3.Session().client(store.service, **kwargs)
    page = SECRETS // store.limit
    found: dict[str, str] = {}
    for start in range(0, SECRETS, page):
        found |= store.get(client, KEYS[start : start + page])
    return [found[key] for key in KEYS]


def checked(work: Callable[[], list[str]]) -> None:
    assert work() == [f"value {key}" for key in KEYS]


def counted(front: Front, work: Callable[[], list[str]]) -> int:
    front.forget()
    checked(work)
    return len(front.requests())


PEERS = {OURS: ours, "boto3 by hand, one request after the other": by_hand, "Airflow's backend": airflows}


def stored(store: Store, kwargs: dict[str, str]) -> None:
    client = boto3.client(store.service, **kwargs)
    for key in KEYS:
        store.put(client, key)


def store_report(effort: Effort, store: Store, front: Front, kwargs: dict[str, str]) -> Report:
    peers = {name: partial(peer, store, kwargs) for name, peer in PEERS.items()}
    requests = {name: counted(front, peer) for name, peer in peers.items()}
    front.delay(DELAY)
    times = effort.each({name: partial(checked, peer) for name, peer in peers.items()})
    front.delay(0)
    ratios = {name: time / times[OURS] for name, time in times.items()}
    faster = "".join(f" {name} is faster than ours." for name, ratio in ratios.items() if ratio < 1)
    return Report(
        f"AWS {store.name}: {SECRETS} secrets",
        f"Moto's server, which delays each answer by {DELAY} ms. Ours is a provider `secrets_backend` with Airflow's "
        f"backend; there is no login. Each round creates a new client.{faster}",
        ("", "requests", "ms", "times ours"),
        [[name, number(requests[name]), number(times[name]), f"{number(ratios[name])} x"] for name in peers],
        [Aim(f"AWS {store.name}, {SECRETS} secrets", store.limit, requests[OURS], "requests")],
    )


def run(effort: Effort) -> list[Report]:
    with aws() as front, WebServer(front) as server:
        kwargs = {**CREDENTIALS, "endpoint_url": server.address}
        for store in STORES:
            stored(store, kwargs)
        return [store_report(effort, store, front, kwargs) for store in STORES]
