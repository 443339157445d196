"""Say hello like ``hello.py``, but resolve the configuration here, which needs no Airflow."""

from __future__ import annotations

from airflow_config_providers.spark import session


def main() -> None:
    """Read both settings, and print the greeting, which shows the reference."""
    spark = session()
    name, token = spark.conf.get("spark.hello.name"), spark.conf.get("spark.hello.token")
    print(f"hello {name}, your token {token} has {len(token)} characters", flush=True)


if __name__ == "__main__":
    main()
