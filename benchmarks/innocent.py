"""Typical values of secret stores, and texts that contain none of them."""

from __future__ import annotations

import base64
import json
import random
import string
import subprocess
import sys
import sysconfig
import uuid
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]
LIBRARIES = Path(sysconfig.get_path("purelib"))
LETTERS_AND_DIGITS = string.ascii_letters + string.digits

JOB = """
from pyspark.sql import SparkSession
spark = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false").getOrCreate()
spark.sparkContext.setLogLevel("INFO")
frame = spark.range(1000).selectExpr("id", "uuid() as name", "cast(id * 1.5 as string) as text")
frame.groupBy("text").count().show()
frame.show(truncate=10)
frame.explain(True)
try:
    spark.sql("select missing from nowhere").collect()
except Exception as error:
    print(error)
"""


def values(count: int, random_: random.Random) -> list[str]:
    """Return values of every kind, most of which contain names that also appear in logs."""
    makers = [
        lambda: f"jdbc:postgresql://{_host(random_)}:5432/warehouse?user=svc_etl&sslmode=require",
        lambda: f"jdbc:sqlserver://{_host(random_)};databaseName=app;encrypt=true;trustServerCertificate=false",
        lambda: f"postgresql+psycopg2://svc:{_token(random_, 14)}@{_host(random_)}/airflow",
        lambda: f"https://{_host(random_)}/api/v1/namespaces/spark/pods?token={_token(random_, 24)}",
        lambda: f"org.apache.spark.sql.execution.datasources.v{random_.randint(1, 9)}.jdbc.JDBCTableCatalog",
        lambda: f"spark.hadoop.fs.s3a.bucket.b{random_.randint(10, 99)}.aws.credentials.provider",
        lambda: f"arn:aws:iam::{random_.randint(10**11, 10**12)}:role/spark-prod-{random_.randint(1, 99)}",
        lambda: f"/opt/spark/jars/hadoop-aws-3.4.{random_.randint(10, 99)}.jar",
        lambda: f"svc_airflow_{random_.randint(1000, 9999)}",
        lambda: (
            f"{random_.choice(['blue', 'green'])}-{random_.choice(['horse', 'staple'])}-{random_.randint(100, 999)}x"
        ),
        lambda: _host(random_),
        lambda: _token(random_, random_.randint(8, 12)),
        lambda: _token(random_, random_.randint(16, 40)),
        lambda: str(uuid.UUID(int=random_.getrandbits(128))),
        lambda: random_.randbytes(random_.choice([16, 20, 32])).hex(),
        lambda: base64.b64encode(random_.randbytes(random_.choice([24, 32, 48]))).decode(),
        lambda: "AKIA" + "".join(random_.choices(string.ascii_uppercase + "234567", k=16)),
        lambda: "".join(random_.choices(LETTERS_AND_DIGITS + "/+", k=40)),
        lambda: f"eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9.{_payload(random_)}.{_token(random_, 43)}",
        lambda: _pem(random_),
        lambda: json.dumps({"type": "service_account", "project_id": _host(random_), "private_key": _pem(random_)}),
    ]
    return [makers[number % len(makers)]() for number in range(count)]


def texts() -> Iterator[tuple[str, str]]:
    """Yield available texts, each after its kind: documentation, sources, templates, hashes of packages."""
    for what, pattern, root in (
        ("documentation", "docs/**/*.md", ROOT),
        ("sources", "airflow_config_providers/**/*.py", ROOT),
        ("error conditions of Spark", "pyspark/errors/*.json", LIBRARIES),
        ("sources of Spark", "pyspark/sql/*.py", LIBRARIES),
        ("configuration of Airflow", "airflow/config_templates/*", LIBRARIES),
        ("hashes of installed files", "apache_airflow*/RECORD", LIBRARIES),
        ("descriptions of packages", "*.dist-info/METADATA", LIBRARIES),
    ):
        found = [path.read_text(errors="replace") for path in sorted(root.glob(pattern)) if path.is_file()]
        yield what, "\n".join(found)


def logs() -> Iterator[tuple[str, str]]:
    """Yield the output of real programs: a driver at INFO, and pytest."""
    for what, command in (
        ("log of a Spark driver", [sys.executable, "-c", JOB]),
        (
            "output of pytest",
            [sys.executable, "-m", "pytest", "-vv", "-p", "no:cacheprovider", "tests/core/test_layers.py"],
        ),
    ):
        ended = subprocess.run(command, capture_output=True, text=True, check=False, cwd=ROOT, timeout=300)
        yield what, ended.stdout + ended.stderr


def _host(random_: random.Random) -> str:
    name = f"{random_.choice(['db', 'kafka', 'vault', 'minio', 'warehouse'])}-{random_.randint(1, 99):02}"
    group = "c" + "".join(random_.choices(string.ascii_lowercase + string.digits, k=11))
    zone = random_.choice(["eu-west-1.rds.amazonaws.com", "prod.example.com", "svc.cluster.local", "corp.internal"])
    return f"{name}.{group}.{zone}"


def _token(random_: random.Random, length: int) -> str:
    return "".join(random_.choices(LETTERS_AND_DIGITS + "-_", k=length))


def _payload(random_: random.Random) -> str:
    claims = json.dumps({"iss": "https://idp.example.com", "sub": f"svc-{random_.randint(0, 10**6)}", "aud": "spark"})
    return base64.urlsafe_b64encode(claims.encode()).decode().rstrip("=")


def _pem(random_: random.Random) -> str:
    head = bytes.fromhex("308204bd020100300d06092a864886f70d0101010500048204a7308204a30201000282010100")
    body = base64.b64encode(head + random_.randbytes(1190)).decode()
    lines = "\n".join(body[place : place + 64] for place in range(0, len(body), 64))
    return f"-----BEGIN PRIVATE KEY-----\n{lines}\n-----END PRIVATE KEY-----\n"
