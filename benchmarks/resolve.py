"""Resolves references, and processes values without references."""

from __future__ import annotations

import io
import json
import os
import re
import string
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from unittest import mock

import dotenv
import dynaconf
import omegaconf

from airflow_config_providers.core import ConfigLayer, ConfigProvider, ConfigResolver, ConfigSource, ConfigTransformer
from airflow_config_providers.core.provider import ConfigData
from airflow_config_providers.spark.catalogue import spark_definition
from benchmarks.measure import Aim, Effort, Report, Work, compared
from benchmarks.ratios import Watched, cpu

OURS = "ours: layers, types, limits, provenance"
KAFKAS_PATTERN = re.compile(r"\$\{([^}]*?):(([^}]*?):)?([^}]*?)\}")


class DictProvider(ConfigProvider):
    """Answers from a dictionary, as the fastest possible provider."""

    def __init__(self, values: dict[str, str]) -> None:
        self.values = values

    def get(self, path: str, keys: object = None) -> ConfigData:
        return ConfigData(self.values)


def names(count: int) -> list[str]:
    return [f"spark.app.key{i}" for i in range(count)]


def secrets(count: int) -> dict[str, str]:
    return {f"k{i}": f"value-{i}" for i in range(count)}


def texts(count: int, reference: str) -> dict[str, str]:
    """Return key -> text with ``reference``, in which ``%`` is the placeholder of the key."""
    return {name: f"a {reference.replace('%', f'k{i}')} b" for i, name in enumerate(names(count))}


def resolver(configs: dict[str, str], values: dict[str, str]) -> Work:
    layer = ConfigLayer(ConfigSource.DAG_CONFIG, "conf", configs)
    definition = spark_definition()
    return lambda: ConfigResolver({"v": DictProvider(values)}, definition).resolve([layer]).configs()


def transformer(configs: dict[str, str], values: dict[str, str]) -> Work:
    return lambda: ConfigTransformer({"v": DictProvider(values)}).transform(configs).data


def pattern(configs: dict[str, str], values: dict[str, str]) -> Work:
    """Return a port of Kafka's two passes with its pattern to Python."""

    def work() -> dict[str, str]:
        wanted = {match[4] for text in configs.values() for match in KAFKAS_PATTERN.finditer(text)}
        found = {key: values[key] for key in wanted}
        return {k: KAFKAS_PATTERN.sub(lambda m: found.get(m[4], m[0]), text) for k, text in configs.items()}

    return work


def template(configs: dict[str, str], values: dict[str, str]) -> Work:
    return lambda: {key: string.Template(text).safe_substitute(values) for key, text in configs.items()}


def expandvars(configs: dict[str, str], values: dict[str, str]) -> Work:
    os.environ.update(values)
    return lambda: {key: os.path.expandvars(text) for key, text in configs.items()}


def omega(configs: dict[str, str], values: dict[str, str]) -> Work:
    omegaconf.OmegaConf.register_resolver("v", lambda key: values[key], replace=True)
    return lambda: omegaconf.OmegaConf.to_container(omegaconf.OmegaConf.create(configs), resolve=True)


def dyna(configs: dict[str, str], values: dict[str, str]) -> Work:
    prefix = "@format " if values else ""
    flat = {key.replace(".", "_").upper(): prefix + text for key, text in configs.items()}
    file = Path(tempfile.mkdtemp()) / "settings.json"
    file.write_text(json.dumps({**values, **flat}))

    def work() -> dict[str, str]:
        settings = dynaconf.Dynaconf(settings_files=[str(file)])
        return {name: settings[name] for name in flat}

    return work


def dot(configs: dict[str, str], values: dict[str, str]) -> Work:
    lines = [f"{key}={value}" for key, value in values.items()]
    lines += [f'{key.replace(".", "_")}="{text}"' for key, text in configs.items()]
    text = "\n".join(lines)
    return lambda: dotenv.dotenv_values(stream=io.StringIO(text))


SYNTAX: dict[str, tuple[Callable[[dict[str, str], dict[str, str]], Work], str]] = {
    OURS: (resolver, "${v:%}"),
    "ours: ConfigTransformer alone": (transformer, "${v:%}"),
    "`re`, Kafka's pattern": (pattern, "${v:%}"),
    "string.Template": (template, "${%}"),
    "os.path.expandvars": (expandvars, "${%}"),
    "OmegaConf": (omega, "${v:%}"),
    "dynaconf": (dyna, "{this.%}"),
    "python-dotenv": (dot, "${%}"),
}
QUADRATIC = {"dynaconf", "python-dotenv"}


def peers(count: int, *, with_references: bool) -> dict[str, Work]:
    values = secrets(count)
    made = {}
    for name, (make, reference) in SYNTAX.items():
        if count > 1000 and name in QUADRATIC:
            continue
        configs = texts(count, reference) if with_references else {key: f"plain {key}" for key in names(count)}
        made[name] = make(configs, values if with_references else {})
    return made


def floor(count: int) -> dict[str, Work]:
    values = secrets(count)
    return {"floor: one dict lookup each": lambda: [values[key] for key in values]}


def watched() -> Iterator[Watched]:
    for count in (1000, 10_000):
        configs, values = texts(count, "${v:%}"), secrets(count)
        ours, peer = cpu(resolver(configs, values)), cpu(pattern(configs, values))
        yield Watched(f"resolve {count:,} references, against `re`", ours, peer, aim=1.2)
    plain = texts(1000, "plain")
    ours, peer = cpu(transformer(plain, {}), times=10), cpu(expandvars(plain, {}), times=10)
    yield Watched("1,000 values without references, ConfigTransformer against os.path.expandvars", ours, peer, aim=1)


def run(effort: Effort) -> list[Report]:
    header = ("", "ms", "times ours")
    with mock.patch.dict(os.environ):  # expandvars fills it, and later benchmarks would inherit that
        few = effort.each({**peers(1000, with_references=True), **floor(1000)})
        many = effort.each({**peers(10_000, with_references=True), **floor(10_000)})
        plain = effort.each(peers(1000, with_references=False))
    return [
        Report(
            "Resolve 1,000 references",
            "1,000 keys with one reference each. The provider answers from a dictionary, and nothing is cached between "
            "rounds. Ours settles the layer, checks keys, limits and the types in Spark's catalogue, and records where "
            "each value came from. The peers only replace strings.",
            header,
            compared(few, OURS),
            [Aim("resolve 1,000 references, cold, all checks and provenance", 1.5, few[OURS])],
        ),
        Report(
            "Resolve 10,000 references",
            "Ten times as many references. dynaconf and python-dotenv are left out, because they would take minutes.",
            header,
            compared(many, OURS),
        ),
        Report(
            "1,000 values without references",
            "The cost for a configuration that has nothing to resolve.",
            header,
            compared(plain, OURS),
            [Aim("1,000 values without references, ConfigTransformer", 0.05, plain["ours: ConfigTransformer alone"])],
        ),
    ]
