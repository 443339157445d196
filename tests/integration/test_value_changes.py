"""
Ten thousand random secrets arrive in a real job octet by octet, or are refused before it is submitted.

The seed is printed when a test fails; ``FIDELITY_SEED`` sets it.
"""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from airflow_config_providers.core.properties import dump
from airflow_config_providers.exceptions import UndeliverableValueError
from airflow_config_providers.spark import delivery
from airflow_config_providers.spark.delivery import plan
from airflow_config_providers.spark.driver_providers import to_spark_keys
from airflow_config_providers.spark.private_file import private_file
from airflow_config_providers.spark.redaction import PATTERN_KEYS
from tests.servers.spark_cluster import SparkEnvironment

pytestmark = [pytest.mark.integration, pytest.mark.slow]

SPARK35 = os.environ.get("SPARK35_HOME", "")
GET_SPARK35 = "no Spark 3.5: pip install --target DIR pyspark==3.5.8 and set SPARK35_HOME=DIR/pyspark"
SPARKS = [
    pytest.param("", id="spark4"),
    pytest.param(SPARK35, id="spark35", marks=pytest.mark.skipif(not SPARK35, reason=GET_SPARK35)),
]

SEED = int(os.environ.get("FIDELITY_SEED") or random.SystemRandom().getrandbits(32))
SECRETS = 10_000
LONG = 40
ON_THE_COMMAND = 1_500
REFERENCE = "${file:secrets:x}"

PIECES = [
    *(
        " ",
        "  ",
        "\t",
        "\n",
        "\r",
        "\r\n",
        "\f",
        "\v",
        "\0",
        "\x01",
        "\x1b",
        "\x7f",
        "\x85",
        "\u00a0",
        "\u2028",
        "\ufeff",
    ),
    *(
        "'",
        '"',
        "`",
        "$",
        "$$",
        "%",
        "%s",
        "%%",
        "\\",
        "\\\\",
        "\\n",
        "\\u0041",
        "=",
        ":",
        "#",
        "!",
        ",",
        ";",
        "&",
        "|",
    ),
    *("${user.name}", "${env:HOME}", "${env.HOME}", "${system:user.name}", "${spark.app.name}", "${fs.defaultFS}"),
    *("${x}", "${", "}", "${}", "$${a}", "${${a}}", "${vault:a:b}", "{{ x }}", "{% raw %}", "$HOME", "$(id)", "<&>"),
    *(
        "\u00e9",
        "e\u0301",
        "\u20ac",
        "\u00df",
        "\u4e2d",
        "\u05d0",
        "\U0001f600",
        "\U0001d4b3",
        "\U0010ffff",
        "\ufffd",
        "\ud7ff",
    ),
    *("password", "secret", "0123", "true", "null", "1e5", "spark.t.injected=1", "\nspark.t.injected=1\n"),
]
HALVES = ["\ud800", "\udfff"]

JOB = """
import json, os, sys
from pyspark.sql import SparkSession

if sys.argv[2] == "driver":
    from airflow_config_providers.spark import session
    spark = session()
else:
    spark = SparkSession.builder.getOrCreate()
context, sql = spark.sparkContext, spark.conf
java, jvm = context._jsc, context._jvm
hadoop = java.hadoopConfiguration()
mapper = jvm.com.fasterxml.jackson.databind.ObjectMapper()
mapper.registerModule(getattr(getattr(jvm.com.fasterxml.jackson.module.scala, "DefaultScalaModule$"), "MODULE$"))


def read(found):  # at once: each question takes a while, and there would be a hundred thousand
    return json.loads(mapper.writeValueAsString(found))


conf = {key: value for key, value in read(java.sc().conf().getAll()) if ".t." in key}
all_sql, all_hadoop = read(spark._jsparkSession.conf().getAll()), read(hadoop.getPropsWithPrefix("t."))
found = {
    "conf": conf,
    "sql": {key: all_sql.get(key) for key in conf if key.startswith("spark.t.")},
    "hadoop": {key: all_hadoop.get(key[15:]) for key in conf if key.startswith("spark.hadoop.")},
}
for key in list(conf)[:: len(conf) // 500]:  # as a job asks
    conf[key] = context._conf.get(key)  # getConf() copies everything, key by key
    if key in found["sql"]:
        found["sql"][key] = sql.get(key)
    else:
        found["hadoop"][key] = hadoop.get(key[13:])
with open(os.open(sys.argv[1], os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
    json.dump(found, file)
spark.stop()
"""

CONF = {
    "spark.master": "local[1]",
    "spark.ui.enabled": "false",
    "spark.driver.memory": "1g",
    "spark.log.level": "ERROR",
}


@dataclass(frozen=True)
class Secrets:
    """Key -> value; each value once for the job itself and once for Hadoop."""

    values: Mapping[str, str] = field(repr=False)

    @classmethod
    def random(cls, seed: int) -> Secrets:
        chance = random.Random(seed)
        made = [some_text(chance) for _ in range(SECRETS - LONG)] + [long_text(chance) for _ in range(LONG)]
        ours = {f"spark.t.secret.{n}": value for n, value in enumerate(made)}
        return cls({**ours, **{f"spark.hadoop.t.secret.{n}": value for n, value in enumerate(made)}})


def some_text(chance: random.Random) -> str:
    pieces = chance.choices(PIECES, k=chance.randint(0, 6))
    pieces += [chance.choice(HALVES)] if chance.random() < 0.01 else []
    pieces += ["".join(chance.choices("abcXYZ019+/=", k=chance.randint(0, 24)))] if chance.random() < 0.8 else []
    chance.shuffle(pieces)
    return "".join(pieces)


def long_text(chance: random.Random) -> str:
    text = "".join(chance.choices([piece for piece in PIECES if "${" not in piece], k=40_000))
    return f"x{text.encode()[:65_534].decode(errors='ignore')}x"


@pytest.fixture(scope="module")
def secrets() -> Secrets:
    return Secrets.random(SEED)


def submitted(
    home: str, folder: Path, conf: Mapping[str, str], file: Mapping[str, str], way: str
) -> dict[str, dict[str, str]]:
    """Run the job, with what is said on the command and in the file, and give what it got."""
    (folder / "job.py").write_text(JOB)
    spark = SparkEnvironment.of(home, PYTHONPATH=os.pathsep.join(path for path in sys.path if path))
    words = [word for key, value in conf.items() for word in ("--conf", f"{key}={value}")]
    with private_file(dump(file).encode("ascii")) as private:
        run = subprocess.run(  # noqa: PLW1510 - what it said is shown when it failed
            [spark.script("spark-submit"), "--properties-file", private.path, *words, "job.py", "found.json", way],
            env=spark.variables,
            cwd=folder,
            pass_fds=private.pass_fds,
            capture_output=True,
            text=True,
            errors="replace",
        )
    assert run.returncode == 0, run.stderr[-3000:]
    found: dict[str, dict[str, str]] = json.loads((folder / "found.json").read_text())
    return found


def differing(found: Mapping[str, str], expected: Mapping[str, str]) -> list[str]:
    """Name the keys, and show no value: a run has thousands."""
    names = found.keys() | expected.keys()
    return sorted(name for name in names if found.get(name) != expected.get(name))[:20]


@pytest.mark.parametrize("home", SPARKS)
def test_attack_12_ten_thousand_secrets_arrive_as_they_are_or_are_refused(
    home: str, secrets: Secrets, tmp_path: Path
) -> None:
    print(f"FIDELITY_SEED={SEED}")
    written = dict.fromkeys(secrets.values, REFERENCE)
    refused = {
        key: found
        for key, value in secrets.values.items()
        if (found := list(delivery.value_problems(key, value, written=REFERENCE)))
    }
    sent = {key: value for key, value in secrets.values.items() if key not in refused}
    chance = random.Random(SEED)
    texts = (some_text(chance) for _ in range(10 * ON_THE_COMMAND))
    plain = [text for text in texts if delivery.survives_command("spark.t.open.9999", text)][:ON_THE_COMMAND]
    opens = {f"spark.t.open.{n}": text for n, text in enumerate(plain)}

    planned = plan({**CONF, **sent, **opens}, sensitive=sent, written=written)
    found = submitted(home, tmp_path, planned.plain, planned.private, "worker")

    assert set(planned.private) == {*sent, *PATTERN_KEYS}
    assert differing(found["conf"], {**sent, **opens}) == []
    assert (
        differing(found["sql"], {key: value for key, value in {**sent, **opens}.items() if "hadoop" not in key}) == []
    )
    assert differing(found["hadoop"], {key: value for key, value in sent.items() if "hadoop" in key}) == []
    # What is refused is a part, all of it is said at once, and none of it shows a value.
    assert 1000 < len(refused) < len(secrets.values) / 2
    with pytest.raises(UndeliverableValueError) as error:
        plan(secrets.values, sensitive=secrets.values, written=written)
    assert set(error.value.problems) == {problem for problems in refused.values() for problem in problems}


@pytest.mark.parametrize("home", SPARKS)
def test_attack_12_ten_thousand_secrets_are_resolved_in_the_driver_as_they_are_or_refused(
    home: str, secrets: Secrets, tmp_path: Path
) -> None:
    print(f"FIDELITY_SEED={SEED}")
    sent = {
        key: value
        for key, value in secrets.values.items()
        if not list(delivery.value_problems_in_process(key, value, written=REFERENCE))
    }
    sealed = tmp_path / "secrets.properties"
    sealed.write_text(dump(sent), encoding="ascii")
    definitions = {
        "config.providers": "sealed",
        "config.providers.sealed.class": "file",
        "config.providers.sealed.param.allowed.paths": str(sealed),
        "config.providers.sealed.param.max.bytes": "100000000",
    }
    references = {key: f"${{sealed:{sealed}:{key}}}" for key in sent}

    found = submitted(home, tmp_path, {**CONF, **to_spark_keys(definitions)}, references, "driver")

    assert differing(found["conf"], sent) == []
    assert differing(found["sql"], {key: value for key, value in sent.items() if "hadoop" not in key}) == []
    assert differing(found["hadoop"], {key: value for key, value in sent.items() if "hadoop" in key}) == []
    assert len(sent) > len(secrets.values) / 2


@pytest.mark.parametrize("half", HALVES, ids=ascii)
def test_attack_12_no_half_of_a_pair_reaches_a_driver(half: str) -> None:
    assert list(delivery.value_problems_in_process("spark.t.secret", half, written=REFERENCE))
