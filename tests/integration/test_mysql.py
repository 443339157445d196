"""What MySQL does otherwise than the databases that other tests of dynamic configuration use."""

from __future__ import annotations

import pytest

pytest.importorskip("airflow")

from airflow.models.log import Log
from airflow.models.variable import Variable
from sqlalchemy import create_engine, delete, select
from sqlalchemy.orm import Session, sessionmaker

from airflow_config_providers.core.alter import AlterConfigOp, ConfigResource, ResourceType
from airflow_config_providers.dynamic.admin import ConfigAdmin
from airflow_config_providers.dynamic.airflow_store import VariableStore
from airflow_config_providers.dynamic.store import Kept
from airflow_config_providers.exceptions import ConfigException
from tests.cli.conftest import Deployment
from tests.servers.mysql import emptied

pytestmark = [pytest.mark.integration, pytest.mark.slow]

CANARY = "c4nary-of-the+database"
DAG = ConfigResource(ResourceType.DAG, "flights")


@pytest.fixture
def url(mysql_url: str) -> str:
    return mysql_url


@pytest.fixture
def admin(sessions: sessionmaker[Session]) -> ConfigAdmin:
    return ConfigAdmin(VariableStore("ann", sessions))


def change(admin: ConfigAdmin, dag: ConfigResource, value: str) -> None:
    admin.incremental_alter_configs({dag: [AlterConfigOp("k", value)]})


def value(admin: ConfigAdmin, dag: ConfigResource) -> str | None:
    return admin.describe_configs([dag])[dag]["k"].value


@pytest.mark.parametrize("name", ["Flights", "fl\u00edghts", "flights "])
def test_a_dag_whose_name_mysql_takes_for_another_is_refused_at_once(admin, name):
    change(admin, DAG, "1")

    with pytest.raises(ConfigException, match=rf"'config_providers\.dynamic\.dag\.{name}' for .*dag\.flights'"):
        change(admin, ConfigResource(ResourceType.DAG, name), "2")
    assert value(admin, DAG) == "1"


def test_what_a_renamed_dag_left_can_be_deleted_as_the_refusal_says(admin, sessions):
    renamed = ConfigResource(ResourceType.DAG, "Flights")
    change(admin, DAG, "1")

    for name in ("config_providers.dynamic.dag.flights", "config_providers.dynamic.history.dag.flights"):
        with pytest.raises(ConfigException, match=f"airflow variables delete '{name}'"):
            change(admin, renamed, "2")
        with sessions() as session:
            session.execute(delete(Variable).where(Variable.key == name))
            session.commit()
    change(admin, renamed, "2")
    assert value(admin, renamed) == "2"


def test_a_change_too_long_for_the_audit_log_is_refused_and_not_written(admin, sessions):
    """The database is not said to be away."""
    references = "${vault:a:b}" * 5_000

    with pytest.raises(ConfigException, match=r"the audit log has at most 65,535 bytes.*change fewer keys"):
        change(admin, DAG, references)
    assert VariableStore(begin=sessions).names("") == []
    with sessions() as session:
        assert session.scalars(select(Log)).all() == []


def test_characters_outside_the_first_plane_are_kept(admin):
    change(admin, DAG, "\U0001f600 \U0001d4b6")

    assert value(admin, DAG) == "\U0001f600 \U0001d4b6"


def test_in_a_turn_what_others_wrote_before_it_is_seen(sessions):
    """InnoDB reads a snapshot as of the first read of a transaction."""
    store, others = VariableStore("ann", sessions), VariableStore("bob", sessions)
    assert others.swap({"a": Kept()}, {"a": "1"}, [])
    store.read(["a"])
    assert others.swap(others.read(["a"]), {"a": "2"}, [])

    with store.turn(["a"]) as turn:
        seen = turn.read(["a"])
        assert seen["a"].text == "2"
        assert turn.swap(seen, {"a": "3"}, [])
    assert others.read(["a"])["a"].text == "3"


def test_a_writer_that_waits_in_vain_for_a_row_is_told_to_try_again(sessions, mysql_url):
    hasty = create_engine(mysql_url, connect_args={"init_command": "SET innodb_lock_wait_timeout = 1"})
    store, others = VariableStore("ann", sessionmaker(hasty)), VariableStore("bob", sessions)
    assert others.swap({"a": Kept()}, {"a": "1"}, [])
    seen = store.read(["a"])

    with others.turn(["a"]):
        assert not store.swap(seen, {"a": "2"}, [])
    assert store.swap(seen, {"a": "2"}, [])
    hasty.dispose()


# A whole deployment, whose schema Airflow has made


@pytest.fixture(scope="module")
def deployment(mysql_address: str, tmp_path_factory: pytest.TempPathFactory) -> Deployment:
    pytest.importorskip("MySQLdb", reason="Airflow's commands need mysqlclient: pip install mysqlclient")
    found = Deployment(tmp_path_factory.mktemp("on-mysql") / "home")
    url = emptied(mysql_address, "deployment").replace("root@", f"root:{CANARY}@")
    found.environ |= {
        "AIRFLOW__DATABASE__SQL_ALCHEMY_CONN": url,
        "AIRFLOW__DATABASE__SQL_ALCHEMY_CONN_ASYNC": "sqlite+aiosqlite://",  # no command uses it
    }
    for words in (("db", "migrate"), ("dags", "reserialize")):
        done = found.airflow(*words)
        assert done.code == 0, done.err
    return found


def test_what_a_command_has_changed_is_described(deployment):
    done = deployment.airflow("config-providers", "alter", "--dag", "flights", "--add-config", "spark.app.a=1")
    assert done.code == 0, done.err

    assert "spark.app.a" in deployment.airflow("config-providers", "describe", "--dag", "flights").out


def test_a_dag_that_mysql_finds_by_another_name_is_not_taken_for_it(deployment):
    done = deployment.airflow("config-providers", "alter", "--dag", "FLIGHTS", "--add-config", "spark.app.a=1")

    assert done.code == 3
    assert "There is no DAG 'FLIGHTS'" in done.err


def test_a_run_whose_id_mysql_cannot_compare_is_missing_and_the_database_is_not_away(deployment):
    run = ("--task", "report", "--run", "\U0001f600")
    done = deployment.airflow("config-providers", "describe", "--dag", "flights", *run)

    assert done.code == 3
    assert "There is no such DAG, task or run" in done.err


def test_the_doctor_finds_the_database_in_order(deployment):
    done = deployment.airflow("config-providers", "doctor")

    assert "Airflow's database answers" in done.out
    assert "Airflow's database is migrated." in done.out


def test_a_database_that_is_away_is_told_without_its_address(deployment):
    away = f"mysql+pymysql://root:{CANARY}@localhost/airflow?unix_socket=/nonexistent"
    done = deployment.airflow("config-providers", "history", "--default", AIRFLOW__DATABASE__SQL_ALCHEMY_CONN=away)

    assert done.code == 5
    assert "Airflow's database is unavailable" in done.err
    assert CANARY not in done.out + done.err
