"""
The page in Airflow's UI: a real Chromium, a real API server behind a path, and a real run.

With ``PAGE_PICTURES`` in the environment, the test also renews the pictures of the documentation in ``docs/assets``.
"""

from __future__ import annotations

import json
import os
import textwrap
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.docs.pages import ROOT
from tests.integration import terminal
from tests.integration.browser import Browser, browser
from tests.integration.conftest import CANARY, Airflow, WithoutTriggerer

pytestmark = [pytest.mark.integration, pytest.mark.slow, pytest.mark.usefixtures("java")]

FRAME = "//iframe[@title='Configuration']"
DAG = """
    from airflow.sdk import DAG
    from airflow_config_providers.operators.spark_submit import ConfiguredSparkSubmitOperator

    with DAG("flights", schedule=None):
        ConfiguredSparkSubmitOperator(
            task_id="report",
            application={job!r},
            executor_memory="4g",
            driver_memory="1g",
            conf={{
                "spark.app.db.password": {password!r},
                "spark.app.owner": "reports",
                "spark.sql.shuffle.partitions": "16",
                "spark.ui.enabled": "false",
            }},
        )
"""
JOB = """
    from pyspark.sql import SparkSession

    SparkSession.builder.getOrCreate().stop()
"""
PROVIDERS = {
    "config.providers": "env",
    "config.providers.env.class": "env",
    "config.providers.env.param.allowlist.pattern": "REPORTS_.*",
}
"""No path of the machine is in a reference, and so none is in a picture."""

POLICIES = """
    policies:
    - name: no executor over 16 GB
      class: bounds
      params: {spark.executor.memory: {max: 16g}}
"""


class BehindPath(WithoutTriggerer):
    """A deployment whose address has a path."""

    path = "/airflow"


@pytest.fixture(scope="module")
def airflow(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Airflow]:
    """A deployment behind a path, in which a run has ended, and in which the memory was changed afterwards."""
    home = tmp_path_factory.mktemp("page")
    deployment = BehindPath(
        home / "airflow",
        REPORTS_DB_PASSWORD=CANARY,
        AIRFLOW_CONN_CONFIG_PROVIDERS_DEFAULT=json.dumps({"conn_type": "config_providers", "extra": PROVIDERS}),
        AIRFLOW__CONFIG_PROVIDERS__PASSWORD_ENCODER_SECRET="only-for-this-test-" * 2,
        AIRFLOW__CONFIG_PROVIDERS__POLICIES_FILE=str(home / "policies.yaml"),
    )
    (home / "policies.yaml").write_text(textwrap.dedent(POLICIES))
    (home / "job.py").write_text(textwrap.dedent(JOB))
    dag = DAG.format(job=str(home / "job.py"), password="${env:REPORTS_DB_PASSWORD}")
    (deployment.dags / "flights.py").write_text(textwrap.dedent(dag))
    with deployment:
        deployment.state = deployment.run("flights")  # type: ignore[attr-defined]
        for path, memory in (("default", "2g"), ("dags/flights", "6g"), ("dags/flights/tasks/report", "8g")):
            change = {"operations": [{"name": "spark.executor.memory", "value": memory}]}
            deployment.post(f"/config-providers/v1/{path}", change, "PATCH")
        yield deployment


@pytest.fixture(scope="module")
def window(airflow: Airflow) -> Iterator[Browser]:
    with browser() as window:
        window.resize(1280, 900)
        window.open(f"{airflow.server}/")
        window.text("//nav | //*[@id='root']//a")
        yield window


def show(airflow: Airflow, window: Browser, path: str) -> None:
    """Open the page where Airflow's UI has it, and go into its frame."""
    window.open(f"{airflow.server}{path}")
    window.enter_frame(FRAME)
    window.text("//*[@id='panel' and @aria-busy='false']")


def run_of(airflow: Airflow) -> str:
    ((run,),) = airflow.query("select run_id from dag_run where dag_id = 'flights'")
    return str(run)


@pytest.mark.parametrize(
    ("path", "title", "text"),
    [
        pytest.param("/plugin/configuration-nav", "Deployment", "2g", id="deployment"),
        pytest.param("/dags/flights/plugin/configuration-dag", "flights", "6g", id="dag"),
        pytest.param("/dags/flights/tasks/report/plugin/configuration-task", "report", "8g", id="task"),
    ],
)
def test_airflow_shows_the_page(airflow: Airflow, window: Browser, path: str, title: str, text: str):
    show(airflow, window, path)

    assert title in window.text("//h1")
    assert text in window.text("//tr[contains(., 'spark.executor.memory')]")


def test_a_task_instance_shows_what_its_job_had(airflow: Airflow, window: Browser):
    assert airflow.state == "success"  # type: ignore[attr-defined]
    show(airflow, window, f"/dags/flights/runs/{run_of(airflow)}/tasks/report/plugin/configuration-task-instance")

    assert "4g" in window.text("//tr[contains(., 'spark.executor.memory')]")
    assert "Versions: " in window.text("//*[@class='notes']")


def test_a_task_shows_that_a_change_waits_for_the_next_job(airflow: Airflow, window: Browser):
    show(airflow, window, "/dags/flights/tasks/report/plugin/configuration-task")

    assert "the job has 4g" in window.text("//tr[contains(., 'spark.executor.memory')]")
    assert "in effect" in window.text("//tr[contains(., 'spark.app.db.password')]")


@pytest.mark.parametrize("view", ["Now", "Runs", "History"])
def test_no_resolved_value_reaches_the_page(airflow: Airflow, window: Browser, view: str):
    show(airflow, window, "/dags/flights/tasks/report/plugin/configuration-task")
    window.click(f"//button[@role='tab'][.='{view}']")
    window.text("//*[@id='panel' and @aria-busy='false']")

    assert CANARY not in window.run("return document.documentElement.outerHTML")


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_the_page_follows_the_theme_of_airflow(airflow: Airflow, window: Browser, theme: str):
    window.leave_frame()
    window.run("localStorage.setItem('theme', arguments[0])", theme)
    show(airflow, window, "/dags/flights/tasks/report/plugin/configuration-task")

    assert window.run("return document.documentElement.dataset.theme") == theme
    assert window.run("return parent.document.documentElement.classList.contains(arguments[0])", theme)


@pytest.mark.skipif(not os.environ.get("PAGE_PICTURES"), reason="PAGE_PICTURES is not set")
@pytest.mark.parametrize("theme", ["light", "dark"])
def test_pictures_of_the_documentation_are_renewed(airflow: Airflow, window: Browser, theme: str):
    window.resize(1280, 900)
    window.leave_frame()
    window.run("localStorage.setItem('theme', arguments[0])", theme)
    show(airflow, window, "/dags/flights/tasks/report/plugin/configuration-task")
    picture(window, f"page-in-airflow-{theme}")
    window.open(f"{airflow.server}/config-providers/page/?dag=flights&task=report")
    window.click("//button[@title='spark.executor.memory']")
    window.text("//aside//dt")
    fit(window, ".side")
    picture(window, f"page-key-{theme}", "//aside")


@pytest.mark.skipif(not os.environ.get("PAGE_PICTURES"), reason="PAGE_PICTURES is not set")
def test_the_picture_of_a_terminal_is_renewed(airflow: Airflow, window: Browser):
    window.leave_frame()
    window.resize(1260, 300)
    describe = "config-providers describe --dag flights --task report"
    commands = (describe, f"{describe} --why-not spark.executor.memory=4g")
    shown = {f"airflow {one}": terminal.printed(*one.split(), environ=airflow.environ) for one in commands}
    window.open(terminal.page(shown))
    assert CANARY not in window.text("//pre")
    fit(window, "html")
    picture(window, "terminal")


def picture(window: Browser, name: str, xpath: str = "") -> None:
    folder = ROOT / "docs" / "assets"
    folder.mkdir(exist_ok=True)
    Path(folder / f"{name}.png").write_bytes(window.picture(xpath))


def fit(window: Browser, selector: str) -> None:
    """Make the window as high as the content of an element, so that a picture shows all of it."""
    script = """
        const element = document.querySelector(arguments[0]);
        return [outerWidth, outerHeight + element.scrollHeight - element.clientHeight];
    """
    window.resize(*window.run(script, selector))
