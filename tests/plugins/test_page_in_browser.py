"""The page in a real browser, with a real API server, for users who may do different things."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("airflow")

from airflow_config_providers.core.alter import ConfigResource
from airflow_config_providers.dynamic.document import name_of
from airflow_config_providers.job.records.record import TaskTry
from tests.cli.recorded import RUN, Records, records_in
from tests.integration.browser import Browser, browser
from tests.limits import LONGEST
from tests.plugins.serving import Server, set_

pytestmark = [pytest.mark.integration, pytest.mark.slow]

TASK = "?dag=flights&task=report"
REFERENCE = "${vault:kv/apps/reports/db:host}"
HTML = "<img src=x onerror=\"document.title='attacked'\">\u202e\x07"
ESCAPE, DOWN, END = "\ue00c", "\ue015", "\ue010"
PAINTED = """
    const all = () => performance.getEntriesByType("mark");
    const marks = () => Object.fromEntries(all().map(({name, startTime}) => [name, startTime]));
    return new Promise((done) => {
        const look = () => ("rows" in marks() ? done(marks()) : setTimeout(look, 10));
        look();
    });
"""
POLICIES = """\
policies:
- name: few gigabytes
  class: bounds
  params: {spark.executor.memory: {max: 16g}}
"""


class Page:
    """``page(query)`` opens the page as a user."""

    def __init__(self, server: Server, window: Browser) -> None:
        self.server = server
        self.window = window

    def __call__(self, query: str = TASK, *, user: str | None = "admin", theme: str = "light") -> Browser:
        address = f"{self.server.address}/config-providers/page/"
        self.window.open(f"{address}style.css")
        self.window.forget_cookies()
        if user:
            self.window.add_cookie("_token", self.server.token(user))
        self.window.run("localStorage.setItem('theme', arguments[0])", theme)
        self.window.open(f"{address}{query}")
        self.window.text("//*[@id='panel' and @aria-busy='false']")
        return self.window

    def names(self) -> list[str]:
        found: list[str] = self.window.run(
            "return [...document.querySelectorAll('button.key')].map((button) => button.title)"
        )
        return found


@pytest.fixture(scope="module")
def window() -> Iterator[Browser]:
    with browser() as window:
        window.resize(1440, 900)
        yield window


@pytest.fixture
def page(server: Server, window: Browser) -> Page:
    return Page(server, window)


@pytest.fixture
def changed(server: Server) -> None:
    """Every level of the dynamic configuration has the executors' memory, and the task a reference."""
    for path, *values in (
        ("/default", ("spark.executor.memory", "2g")),
        ("/dags/flights", ("spark.executor.memory", "6g")),
        ("/dags/flights/tasks/report", ("spark.executor.memory", "8g"), ("spark.app.url", f"jdbc:{REFERENCE}/x")),
    ):
        answer = server.alter("admin", path, *(set_(name, value) for name, value in values))
        assert answer.status_code == 200, answer.text


@pytest.fixture
def records(server: Server) -> Iterator[Records]:
    pytest.importorskip("airflow.models.task_state_store", reason="the state of tasks came with Airflow 3.3")
    with records_in(server.deployment) as found:
        yield found


def row(key: str) -> str:
    """Return the XPath of a row."""
    return f"//tr[.//button[@title='{key}']]"


def open_key(window: Browser, key: str) -> None:
    window.click(f"{row(key)}//button")
    window.text("//aside//dt")


@pytest.mark.usefixtures("changed")
def test_a_row_shows_the_value_that_wins_and_its_layer(page: Page):
    text = page().text(row("spark.executor.memory"))

    assert text.split("\n")[:4] == ["spark.executor.memory", "8g", "Dynamic, task", "version 2, overrides 4"]


@pytest.mark.usefixtures("changed")
def test_a_reference_is_shown_as_it_is_written(page: Page):
    assert page().text(f"{row('spark.app.url')}//span[@class='reference']") == REFERENCE


@pytest.mark.usefixtures("changed")
def test_a_key_shows_all_its_layers_the_strongest_first(page: Page):
    window = page()
    open_key(window, "spark.executor.memory")

    layers = window.run("return [...document.querySelectorAll('.layers li')].map((one) => one.innerText.split('\\n'))")
    assert [(layer, value) for layer, value, *_ in layers] == [
        ("Dynamic, task wins", "8g"),
        ("Dynamic, DAG overridden", "6g"),
        ("Dynamic, deployment overridden", "2g"),
        ("DAG file overridden", "3g"),
        ("Spark's default overridden", "1g"),
    ]


def test_a_dag_lists_its_tasks_with_links_to_them(page: Page):
    window = page("?dag=flights")
    window.click("//button[@role='tab'][.='Tasks']")

    assert window.text("//tr[.//a[.='nightly.ingest']]").split() == [
        "nightly.ingest",
        "ConfiguredSparkSubmitOperator",
        "yes",
    ]
    window.click("//a[.='report']")
    assert "DAG_CONFIG" not in window.text(row("spark.executor.memory"))
    assert window.text("//h1").split()[::2] == ["flights", "report"]


def test_a_key_shows_what_spark_says_of_it(page: Page):
    window = page()
    open_key(window, "spark.executor.memory")

    assert "memory to use per executor" in window.text("//aside")
    assert window.text("//dt[.='Unit']/following-sibling::dd[1]") == "MiB"
    assert window.text("//dt[.='Since']/following-sibling::dd[1]") == "Spark 0.7.0"


@pytest.mark.usefixtures("changed")
def test_the_journey_of_a_value_is_drawn_and_told_to_screen_readers(page: Page):
    window = page()
    open_key(window, "spark.app.url")

    told = window.run("return document.querySelector('svg[role=img] title').textContent")
    assert told.split(", then ") == [
        "Dynamic, task wins",
        "vault reads host of kv/apps/reports/db",
        "to Spark, in a file that others cannot read",
    ]


def test_a_key_that_waits_for_the_next_submit_says_what_the_job_has(page: Page, records: Records):
    records({"spark.executor.memory": "1g", "spark.cores.max": "8"})
    window = page()

    assert "pending\nthe job has 1g" in window.text(row("spark.executor.memory"))
    assert "in effect" in window.text(row("spark.cores.max"))


def test_a_search_finds_names_and_values(page: Page):
    window = page()
    window.type("//input[@type='search']", "MEMORY 3g")

    assert page.names() == ["spark.executor.memory"]
    assert window.text("//*[@class='count']").startswith("1 of ")


@pytest.mark.parametrize(
    ("name", "keys"),
    [
        pytest.param("References", ["spark.app.db.password"], id="references"),
        pytest.param("Sensitive", ["spark.app.db.password", "spark.app.old.password"], id="sensitive"),
    ],
)
def test_a_filter_leaves_the_keys_that_belong_to_it(page: Page, name: str, keys: list[str]):
    window = page()
    window.click(f"//button[@aria-pressed][contains(., '{name}')]")

    assert page.names() == keys


@pytest.mark.usefixtures("changed")
def test_a_layer_can_be_chosen(page: Page):
    window = page()
    window.click("//select[@aria-label='Layer']/option[.='Dynamic, task']")

    assert page.names() == ["spark.app.url", "spark.executor.memory"]


def test_the_defaults_of_spark_can_be_shown(page: Page):
    window = page()
    window.click('//button[.="Spark\'s defaults"]')
    window.text("//button[@aria-pressed='true'][.=\"Spark's defaults\"]")
    all_are_there(window)
    window.type("//input[@type='search']", "spark.executor.heartbeatInterval")

    assert "spark.executor.heartbeatInterval" in page.names()


def test_a_slash_goes_to_the_search(page: Page):
    window = page()
    window.press("/")

    assert window.run("return [document.activeElement.id, document.activeElement.value]") == ["search", ""]


def test_the_arrow_keys_move_through_the_keys(page: Page):
    window = page()
    window.run("document.querySelector('button.key').focus()")
    first, second, *_ = page.names()
    window.press(DOWN)

    assert window.run("return document.activeElement.title") == second
    window.press(END)
    assert window.run("return document.activeElement.title") == page.names()[-1] != first


def test_escape_closes_a_key_and_goes_back_to_its_row(page: Page):
    window = page()
    open_key(window, "spark.executor.memory")
    window.press(ESCAPE)

    assert window.run("return [document.querySelector('aside'), document.activeElement.title]") == [
        None,
        "spark.executor.memory",
    ]


def test_a_dry_run_shows_who_denies_and_allows_no_change(page: Page):
    page.server.policies.write_text(POLICIES)
    window = page()
    open_key(window, "spark.executor.memory")
    window.replace("//textarea", "20g")
    window.click("//button[.='Dry run']")

    assert "Policy 'few gigabytes' denies" in window.text("//*[contains(@class, 'verdict denied')]")
    assert window.run("return document.querySelector('form .primary').disabled")


def test_a_change_that_passed_its_dry_run_is_made(page: Page):
    window = page()
    open_key(window, "spark.executor.memory")
    window.replace("//textarea", "9g")
    window.click("//button[.='Dry run']")
    assert "No policy denies it" in window.text("//*[contains(@class, 'verdict allowed')]")
    window.click("//form//button[.='Change']")

    assert "9g" in window.text(f"{row('spark.executor.memory')}[contains(., 'Dynamic, task')]")
    ((change,),) = [page.server.ask("admin", "GET", "/dags/flights/tasks/report/history").json()["rows"]]
    assert (change["by"], change["key"], change["is"]) == ("admin", "spark.executor.memory", "9g")


@pytest.mark.parametrize("value", ["9g", "20g"], ids=["allowed", "denied"])
def test_a_dry_run_leaves_the_focus_where_it_is(page: Page, value: str):
    page.server.policies.write_text(POLICIES)
    window = page()
    open_key(window, "spark.executor.memory")
    window.replace("//textarea", value)
    window.click("//button[.='Dry run']")
    window.text("//*[contains(@class, 'verdict ')]")

    assert window.run("return document.activeElement.textContent") == "Dry run"


@pytest.mark.usefixtures("changed")
def test_a_change_of_somebody_else_is_not_overwritten(page: Page):
    window = page()
    open_key(window, "spark.executor.memory")
    page.server.alter("op", "/dags/flights/tasks/report", set_("spark.executor.memory", "7g"))
    window.click("//button[.='Dry run']")

    assert "version" in window.text("//*[contains(@class, 'verdict denied')]")


@pytest.mark.usefixtures("changed")
def test_the_history_shows_who_changed_what(page: Page):
    window = page()
    window.click("//button[@role='tab'][.='History']")

    assert window.text("//ol[@class='history']/li").startswith("Version 2 by admin")
    assert "spark.executor.memory" in window.text("//ol[@class='history']/li")


@pytest.mark.usefixtures("changed")
def test_a_loss_has_no_time_and_no_user_in_the_history(page: Page):
    with closing(sqlite3.connect(page.server.deployment.home / "airflow.db", timeout=LONGEST)) as database, database:
        database.execute("delete from variable where key = ?", [name_of(ConfigResource.of_task("flights", "report"))])
    window = page()
    window.click("//button[@role='tab'][.='History']")

    assert window.text("//ol[@class='history']/li").startswith("Version 3 by unknown, because its variable was deleted")


@pytest.mark.usefixtures("changed")
def test_a_version_is_restored_after_a_dry_run(page: Page):
    page.server.alter("admin", "/dags/flights/tasks/report", set_("spark.executor.memory", "9g"))
    window = page()
    window.click("//button[@role='tab'][.='History']")
    window.click("//button[contains(., 'Dry run of a return')]")
    window.text("//*[contains(@class, 'verdict allowed')]")
    window.click("//button[.='Restore']")

    assert window.text("//ol[@class='history']/li[3]").startswith("Version 2")
    assert "a rollback to version 2" in window.text("//ol[@class='history']/li[1]")


def test_a_return_shows_no_value_of_a_dag_if_its_tasks_differ(page: Page):
    page.server.alter("admin", "/dags/flights", set_("spark.driver.memory", "8g"))
    page.server.alter("admin", "/dags/flights", set_("spark.executor.memory", "9g"))
    window = page("?dag=flights")
    window.click("//button[@role='tab'][.='History']")
    window.click("//button[contains(., 'Dry run of a return')]")

    assert "spark.executor.memory = each task decides" in window.text("//*[contains(@class, 'verdict allowed')]")


@pytest.mark.usefixtures("changed")
def test_a_return_to_a_version_does_not_undo_the_change_of_somebody_else(page: Page):
    path = "/dags/flights/tasks/report"
    page.server.alter("admin", path, set_("spark.executor.memory", "9g"))
    window = page()
    window.click("//button[@role='tab'][.='History']")
    window.text("//ol[@class='history']")
    page.server.alter("op", path, set_("spark.executor.memory", "7g"))
    window.click("//button[contains(., 'Dry run of a return')]")

    assert "version" in window.text("//*[contains(@class, 'verdict denied')]")


def test_a_run_shows_what_it_had(page: Page, records: Records):
    records({"spark.app.a": "of the run"}, job="driver-7")
    window = page(f"{TASK}&run={RUN.replace('+', '%2B')}&map={{MAP_INDEX}}")

    assert "of the run" in window.text(row("spark.app.a"))
    assert "driver-7" in window.text("//*[@class='notes']")


def test_runs_are_compared(page: Page, records: Records):
    records({"spark.app.a": "first"}, number=1)
    records({"spark.app.a": "second"}, number=2)
    window = page()
    window.click("//button[@role='tab'][.='Runs']")
    window.click("(//select)[2]/option[contains(., 'try 1')]")

    assert window.text("//table[@aria-label='Differences']/tbody").split("\n")[0] == "spark.app.a changed second"


def test_names_and_values_with_html_and_control_characters_are_text(page: Page, records: Records):
    records({"spark.app.html": HTML, "spark.app.<b>": "x"})
    window = page(f"{TASK}&run={RUN.replace('+', '%2B')}")
    window.click(f"{row('spark.app.html')}//button")

    assert "<img src=x" in window.text("//aside")
    assert "\\u202e\\u0007" in window.text("//aside")
    assert "spark.app.<b>" in page.names()
    assert window.run("return [document.title, document.querySelector('img')]") == [
        "Configuration of task report of DAG flights",
        None,
    ]


@pytest.mark.parametrize(
    ("character", "shown"),
    [
        pytest.param("\U000e0041", "\\u{e0041}", id="tag"),
        pytest.param("\u3164", "\\u3164", id="filler"),
        pytest.param("\u00a0", "\\u00a0", id="no-break-space"),
        pytest.param("\ud800", "\\ud800", id="half-of-a-pair"),
    ],
)
def test_a_name_with_a_character_that_cannot_be_seen_does_not_look_like_another(
    page: Page, records: Records, character: str, shown: str
):
    records({f"spark.app.a{character}": "x"})
    window = page(f"{TASK}&run={RUN.replace('+', '%2B')}")

    assert window.text("//button[@class='key']") == f"spark.app.a{shown}"
    assert page.names() == [f"spark.app.a{shown}"]


def test_a_value_of_several_lines_is_changed_as_it_is(page: Page):
    page.server.alter("admin", "/dags/flights/tasks/report", set_("spark.app.lines", "a\nb\tc"))
    window = page()
    open_key(window, "spark.app.lines")

    assert window.run("return document.querySelector('textarea').value") == "a\nb\tc"


def test_of_a_long_value_the_beginning_is_shown(page: Page):
    page.server.alter("admin", "/dags/flights/tasks/report", set_("spark.app.long", "x" * 60_000))

    window = page()
    open_key(window, "spark.app.long")

    shown = window.run("return document.querySelector('.layers code').textContent")
    assert shown == f"{'x' * 2500}… (60000 characters)"


def test_an_address_with_html_is_text(page: Page):
    window = page("?dag=%3Cimg%20src%3Dx%3E%E2%80%AE&task=%3Cb%3E")

    assert window.text("//h1").startswith("<img src=x>\\u202e ")
    assert window.run("return document.querySelector('img')") is None


def test_a_run_from_before_the_package_says_so(page: Page):
    window = page()
    window.click("//button[@role='tab'][.='Runs']")

    assert "Runs from before airflow-config-providers was installed" in window.text("//p[starts-with(., 'No run')]")


def test_a_record_of_a_later_version_says_so(page: Page, records: Records):
    records({"spark.app.a": "1"}, format=99)
    window = page(f"{TASK}&run={RUN.replace('+', '%2B')}")

    assert "A later version of airflow-config-providers wrote this record" in window.text("//*[@class='notes']")
    assert page.names() == ["spark.app.a"]


@pytest.mark.parametrize(
    ("user", "text"),
    [
        pytest.param(None, "You are not signed in", id="nobody"),
        pytest.param("eve", "You do not have permission", id="no-rights"),
    ],
)
def test_a_user_who_may_not_read_sees_why_and_no_key(page: Page, user: str | None, text: str):
    window = page(user=user)

    assert text in window.text("//*[@role='alert']")
    assert page.names() == []


def test_a_user_who_may_only_read_sees_why_a_change_is_refused(page: Page):
    window = page(user="viewer")
    open_key(window, "spark.executor.memory")
    window.click("//button[.='Dry run']")

    assert "You do not have permission" in window.text("//*[contains(@class, 'verdict denied')]")


@pytest.mark.parametrize("query", ["", "?dag=flights", TASK], ids=["deployment", "dag", "task"])
@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.usefixtures("changed")
def test_axe_finds_nothing_serious(page: Page, query: str, theme: str):
    window = page(query, theme=theme)
    open_key(window, "spark.executor.memory")

    assert found_by_axe(window) == []


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.usefixtures("changed")
def test_axe_finds_nothing_serious_in_the_answers_to_a_question(page: Page, theme: str):
    window = open_why_not(page, theme=theme)
    ask_why_not(window, "DAG file")

    assert found_by_axe(window) == []


def found_by_axe(window: Browser) -> list[Any]:
    script = os.environ.get("AXE_CORE")
    if not script:
        pytest.skip("AXE_CORE names no axe.min.js: .ci/run installs it")
    window.run(Path(script).read_text())
    found: list[Any] = window.run(
        "return axe.run().then(({violations}) => violations.map(({impact, id, nodes}) => [impact, id, nodes[0].html]))"
    )
    return found


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_the_page_has_the_theme_that_airflow_remembers(page: Page, theme: str):
    assert page(theme=theme).run("return document.documentElement.dataset.theme") == theme


def all_are_there(window: Browser) -> None:
    window.text("//*[@class='count' and not(starts-with(., 'Loading'))]")


def ten_thousand(records: Records) -> None:
    records({f"spark.app.key{number:05}": "x" * 20 for number in range(10_000)})


def test_of_ten_thousand_keys_only_the_visible_ones_are_in_the_document(page: Page, records: Records):
    ten_thousand(records)
    window = page(f"{TASK}&run={RUN.replace('+', '%2B')}")

    assert len(page.names()) < 100
    all_are_there(window)
    assert window.run("return document.querySelector('table').getAttribute('aria-rowcount')") == "10001"
    window.run("document.querySelector('button.key').focus()")
    window.press(END)
    assert window.run("return document.activeElement.title") == "spark.app.key09999"


def test_the_first_keys_are_shown_before_all_are_there(page: Page, records: Records):
    ten_thousand(records)
    window = page(f"{TASK}&run={RUN.replace('+', '%2B')}")
    all_are_there(window)

    asked = window.run(
        "const names = performance.getEntriesByType('resource').map(({name}) => name);"
        "return names.filter((name) => name.includes('/runs/'));"
    )
    marks = marks_of(window)
    assert ["&first=100" in name for name in asked] == [True, False]
    assert marks["rows"] < marks["all rows"]
    assert window.text("//*[@class='count']") == "10000 keys"


def test_a_search_while_keys_are_loaded_finds_those_that_come_later(page: Page, records: Records):
    ten_thousand(records)
    window = page(f"{TASK}&run={RUN.replace('+', '%2B')}")
    window.type("//input[@type='search']", "key09999")
    all_are_there(window)

    assert page.names() == ["spark.app.key09999"]
    assert window.run("return document.activeElement.id") == "search"


def marks_of(window: Browser) -> dict[str, Any]:
    """Return name -> milliseconds since the page was opened, when the first rows have been painted."""
    marks: dict[str, Any] = window.run(PAINTED)
    return marks


def test_marks_tell_when_the_rows_of_ten_thousand_keys_are_there(page: Page, records: Records):
    """The time depends on the machine, so it is printed."""
    ten_thousand(records)
    window = page(f"{TASK}&run={RUN.replace('+', '%2B')}")

    marks = marks_of(window)
    print(
        f"10,000 keys: the first rows are there {marks['rows']:.0f} ms after the page was opened, "
        f"{marks['rows'] - marks['data']:.0f} ms after the answer was read"
    )
    assert marks["data"] < marks["rows"]


def ask_why_not(window: Browser, text: str) -> str:
    """Return the first answer."""
    window.replace("//input[@id='why-not']", text)
    window.click("//button[.='Ask why not']")
    return window.text("//ul[@class='answers']/li")


@pytest.mark.parametrize("tab", ["Now", "Runs", "History"])
@pytest.mark.usefixtures("changed")
def test_a_task_that_is_called_by_two_dots_is_not_taken_for_its_dag(page: Page, tab: str):
    """Airflow allows the name. A browser would ask for the history of the DAG, and restore the DAG's versions."""
    window = page("?dag=flights&task=..")
    window.click(f"//*[@role='tab'][.='{tab}']")

    assert "called . or .." in window.text("//*[@id='panel' and @aria-busy='false']//*[@role='alert']")


def test_a_run_that_is_called_by_two_dots_is_not_taken_for_the_task(page: Page):
    assert "called . or .." in page(f"{TASK}&run=..").text("//ul[@class='problems']")


def open_why_not(page: Page, query: str = TASK, **more: str) -> Browser:
    window = page(query, **more)
    window.click("//button[.='Why not?']")
    return window


@pytest.mark.usefixtures("changed")
def test_a_key_says_why_it_does_not_have_another_value(page: Page):
    window = page()
    open_key(window, "spark.executor.memory")

    assert ask_why_not(window, "6g").split("\n") == [
        "beaten",
        "spark.executor.memory = 6g",
        "Dynamic, DAG, dynamic configuration of DAG 'flights', version 1",
        "Dynamic, task, dynamic configuration of task 'report' of DAG 'flights', version 2 wins.",
    ]


def test_policies_judge_a_value_that_is_asked_about(page: Page):
    page.server.policies.write_text(POLICIES)
    window = page()
    open_key(window, "spark.executor.memory")

    assert "Policy 'few gigabytes' denies" in ask_why_not(window, "20g")
    assert page.server.ask("admin", "GET", "/dags/flights/tasks/report/history").json()["rows"] == []


def test_a_user_who_may_only_read_is_answered_without_the_policies(page: Page):
    page.server.policies.write_text(POLICIES)
    window = page(user="viewer")
    open_key(window, "spark.executor.memory")

    assert ask_why_not(window, "20g").startswith("not set")
    assert "Whether it would be allowed was not checked. You do not have permission" in window.text(
        "//aside//ul[@class='notes']"
    )


@pytest.mark.parametrize(
    ("text", "verdict"),
    [
        pytest.param("spark.executor.memroy=8g", "typo", id="misspelt"),
        pytest.param("conf/other.toml", "not read", id="file"),
        pytest.param("DAG file", "beaten\nspark.executor.memory = 3g", id="layer-with-what-does-not-apply-first"),
    ],
)
@pytest.mark.usefixtures("changed")
def test_a_setting_or_a_layer_that_is_not_in_the_table_is_explained(page: Page, text: str, verdict: str):
    assert ask_why_not(open_why_not(page), text).startswith(verdict)


def test_a_run_says_why_it_did_not_have_a_value(page: Page, records: Records):
    records({"spark.executor.memory": "1g"})
    window = open_why_not(page, f"{TASK}&run={RUN.replace('+', '%2B')}")

    assert "No layer has this value. DAG file, conf wins with 1g." in ask_why_not(window, "spark.executor.memory=8g")


def test_what_a_reader_asks_about_is_text(page: Page):
    window = open_why_not(page)

    assert f"spark.app.html = {HTML[:-2]}" in ask_why_not(window, f"spark.app.html={HTML[:-2]}")
    assert window.run("return [document.title, document.querySelector('img')]") == [
        "Configuration of task report of DAG flights",
        None,
    ]


def test_a_value_that_a_reader_asks_about_is_in_no_address(page: Page):
    window = open_why_not(page, user="viewer")
    ask_why_not(window, "spark.app.a=c4nary")
    ask_why_not(window, "c4nary")

    found = window.run("return performance.getEntriesByType('resource').map(({name}) => name)")
    assert len([name for name in found if "/why-not" in name]) == 3
    assert not any("c4nary" in name for name in found)


def test_spark_s_defaults_are_added_without_losing_the_search_and_the_focus(page: Page):
    window = page()
    window.type("//input[@type='search']", "memory")
    window.click('//button[.="Spark\'s defaults"]')
    window.text("//button[@aria-pressed='true'][.=\"Spark's defaults\"]")

    assert window.run("return [document.getElementById('search').value, document.activeElement.id]") == [
        "memory",
        "defaults",
    ]
    all_are_there(window)
    assert " of " in window.text("//*[@class='count']")


def test_after_a_change_the_focus_is_on_its_key(page: Page):
    window = page()
    open_key(window, "spark.executor.memory")
    window.replace("//textarea", "9g")
    window.click("//button[.='Dry run']")
    window.text("//*[contains(@class, 'verdict allowed')]")
    window.click("//form//button[.='Change']")
    window.text(f"{row('spark.executor.memory')}[contains(., 'Dynamic, task')]")

    assert window.run("return document.activeElement.title") == "spark.executor.memory"
    window.press(DOWN)
    assert (
        window.run("return document.activeElement.title")
        == page.names()[page.names().index("spark.executor.memory") + 1]
    )


def test_a_database_that_fails_is_reported_in_plain_words(page: Page):
    with closing(sqlite3.connect(page.server.deployment.home / "airflow.db", timeout=LONGEST)) as database:
        database.execute("alter table serialized_dag rename to serialized_dag_elsewhere")
        try:
            assert "Airflow's database is unavailable" in page().text("//*[@role='alert']")
        finally:
            database.execute("alter table serialized_dag_elsewhere rename to serialized_dag")


def test_a_record_that_others_wrote_does_not_break_the_page(page: Page, records: Records):
    records.entries(TaskTry("flights", "report", RUN), {"config_providers_record_1": "no record"})
    window = page(f"{TASK}&run={RUN.replace('+', '%2B')}")

    assert window.text("//*[contains(@class, 'problems')]")
