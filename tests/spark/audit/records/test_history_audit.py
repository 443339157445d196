"""What the history of the configuration shows, and how often that of tasks changed, on Spark."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from airflow_config_providers.core.layers import ConfigLayer, ConfigSource
from airflow_config_providers.spark.audit.records.history_audit import (
    Drift,
    KnownElsewhere,
    Ranking,
    drift_of,
    history_of,
)
from tests.spark.audit.records.past import Past, frame

pytestmark = pytest.mark.slow


FILE, DEFAULT = ConfigSource.STATIC_FILE_CONFIG, ConfigSource.DYNAMIC_DEFAULT_CONFIG
OF_DAG, OF_TASK, RUN = ConfigSource.DYNAMIC_DAG_CONFIG, ConfigSource.DYNAMIC_TASK_CONFIG, ConfigSource.RUN_CONFIG

MEMORY = "spark.executor.memory"


class Audit:
    """``audit("between-runs")`` returns the findings of one kind in what was written into ``past``."""

    def __init__(self, session: Any, past: Past) -> None:
        self._session = session
        self._past = past

    def __call__(self, kind: str, *, against: Past | None = None, **known: Any) -> list[dict[str, Any]]:
        there = frame(self._session, against) if against else None
        records = frame(self._session, self._past)
        with history_of(self._session, records, KnownElsewhere(**known), there) as history:
            return history.findings([kind])


@pytest.fixture
def audit(session: Any, past: Past) -> Iterator[Audit]:
    return Audit(session, past)


def layer(source: ConfigSource, origin: str = "somewhere", **configs: str) -> ConfigLayer:
    return ConfigLayer(source, origin, {f"spark.{name}": text for name, text in configs.items()})


def told(rows: list[dict[str, Any]]) -> list[tuple[str, str, str]]:
    return [(row["task"], row["key"], row["detail"]) for row in rows]


def test_a_key_that_changes_between_runs_is_found(audit: Audit, past: Past):
    for day, memory in enumerate(("4g", "4g", "8g", "8g"), 1):
        past({MEMORY: memory, "spark.same": "1"}, run=f"r{day}", day=day)

    (row,) = audit("between-runs")

    assert told([row]) == [("report", MEMORY, "`4g` (DAG_CONFIG, conf), then `8g` (DAG_CONFIG, conf)")]
    assert (row["runs"], row["first"][:10], row["last"][:10]) == (1, "2026-11-03", "2026-11-03")


def test_a_key_that_appears_and_vanishes_is_found(audit: Audit, past: Past):
    for day, configs in enumerate(({}, {"spark.a": "1"}, {}), 1):
        past(configs, run=f"r{day}", day=day)

    (row,) = audit("between-runs")

    assert told([row]) == [("report", "spark.a", "`1` (DAG_CONFIG, conf), then not set")]
    assert (row["runs"], row["first"][:10], row["last"][:10]) == (2, "2026-11-02", "2026-11-03")


def test_only_the_last_try_of_a_run_counts(audit: Audit, past: Past):
    past({"spark.a": "1"}, run="r1", day=1)
    past({"spark.a": "2"}, run="r2", day=2, number=1)
    past({"spark.a": "1"}, run="r2", day=2, number=2)

    assert audit("between-runs") == []


def test_a_try_that_followed_a_job_does_not_count(audit: Audit, past: Past):
    past({"spark.a": "1"}, run="r1", day=1)
    past({"spark.a": "2"}, run="r1", day=2, number=2, follows=1)
    past({"spark.a": "1"}, run="r2", day=3)

    assert audit("between-runs") == []


def test_a_try_that_was_refused_before_its_layers_were_settled_changed_no_key(audit: Audit, past: Past):
    past({"spark.a": "1"}, run="r1", day=1)
    past({}, run="r2", day=2, problems=("A reference in dag_run.conf is not allowed.",))
    past({"spark.a": "1"}, run="r3", day=3)

    assert audit("between-runs") == []
    assert audit("before-failure") == []


def test_the_instances_of_a_mapped_task_are_not_compared_with_each_other(audit: Audit, past: Past):
    for day in (1, 2):
        for index in (0, 1):
            past({"spark.a": str(index)}, run=f"r{day}", day=day, map_index=index)

    assert audit("between-runs") == []


def test_a_plaintext_secret_is_hidden(audit: Audit, past: Past):
    past({"spark.a": "1"}, run="r1", day=1)
    past({"spark.a": "1", "spark.app.password": "hunter2"}, run="r2", day=2)

    assert told(audit("between-runs")) == [
        ("report", "spark.app.password", "not set, then `[hidden]` (DAG_CONFIG, conf)")
    ]


def test_a_job_that_ignores_what_most_have_is_found(audit: Audit, past: Past):
    for dag in ("a", "b", "c"):
        past([ConfigLayer(DEFAULT, "default, version 2", {MEMORY: "8g"})], dag=dag)
    past({MEMORY: "2g"}, dag="d")

    (row,) = audit("between-dags")

    assert row["dag"] == "d"
    assert row["detail"] == (
        "`2g` (DAG_CONFIG, conf), while 3 of 4 tasks have `8g` (DYNAMIC_DEFAULT_CONFIG, default, version 2)"
    )


def memory(mine: str, default: str, *, line: int = 1) -> list[ConfigLayer]:
    """Return the layers of a task that sets its memory, and of a file with the default."""
    return [
        ConfigLayer(ConfigSource.DAG_CONFIG, "conf", {MEMORY: mine}),
        ConfigLayer(FILE, f"base.properties:{line}", {MEMORY: default}),
    ]


def test_tasks_that_ignore_a_default_are_found_however_many_they_are(audit: Audit, past: Past):
    past([ConfigLayer(FILE, "base.properties:1", {MEMORY: "2g"})], dag="flights", run="r1", day=1)
    past([ConfigLayer(FILE, "base.properties:1", {MEMORY: "3g"})], dag="flights", run="r2", day=2)
    for dag, mine in (("billing", "6g"), ("churn", "2g"), ("dunning", "5g")):
        past(memory(mine, "3g"), dag=dag, day=2)

    found = audit("overrides-default")

    assert [(row["dag"], row["key"], row["detail"]) for row in found] == [
        (
            dag,
            MEMORY,
            f"`{mine}` (DAG_CONFIG, conf) in place of the default `3g` (STATIC_FILE_CONFIG, base.properties:1)",
        )
        for dag, mine in (("billing", "6g"), ("churn", "2g"), ("dunning", "5g"))
    ]
    assert {(row["runs"], row["last"][:10]) for row in found} == {(1, "2026-11-02")}


def test_a_default_is_compared_as_it_is_now(audit: Audit, past: Past):
    past(memory("3g", "2g"), dag="same", day=1)
    past(memory("2g", "2g"), dag="other", day=1)
    past([ConfigLayer(FILE, "base.properties:7", {MEMORY: "3g"})], dag="flights", day=2)  # lines were added above it

    assert [row["dag"] for row in audit("overrides-default")] == ["other"]


def test_a_default_that_was_only_taken_once_is_still_overridden(audit: Audit, past: Past):
    past([ConfigLayer(FILE, "base.properties:1", {MEMORY: "3g"})], run="r1", day=1)
    past(memory("6g", "3g"), run="r2", day=2)

    assert [row["task"] for row in audit("overrides-default")] == ["report"]
    assert audit("default-not-taken") == []


def test_a_default_that_nobody_took_is_told_only_once(audit: Audit, past: Past):
    past(memory("6g", "3g"))

    assert audit("overrides-default") == []
    assert len(audit("default-not-taken")) == 1


def test_a_task_that_no_longer_overrides_a_default_is_no_finding(audit: Audit, past: Past):
    past(memory("6g", "3g"), run="r1", day=1)
    past([ConfigLayer(FILE, "base.properties:1", {MEMORY: "3g"})], run="r2", day=2)

    assert audit("overrides-default") == []


def test_a_default_that_overrides_another_is_taken(audit: Audit, past: Past):
    past([ConfigLayer(FILE, "base.properties:1", {MEMORY: "3g"})], run="r1", day=1)
    past(
        [layer(DEFAULT, **{"executor.memory": "4g"}), ConfigLayer(FILE, "base.properties:1", {MEMORY: "3g"})],
        run="r2",
        day=2,
    )

    assert audit("overrides-default") == []


def test_the_strongest_default_is_the_one_that_is_overridden(audit: Audit, past: Past):
    stronger = layer(DEFAULT, "default, version 1", **{"executor.memory": "4g"})
    past([stronger], dag="billing")
    past([ConfigLayer(FILE, "base.properties:1", {MEMORY: "3g"})], dag="churn")
    past([ConfigLayer(OF_DAG, "flights", {MEMORY: "8g"}), *memory("6g", "3g"), stronger])

    (row,) = audit("overrides-default")

    assert row["detail"].endswith("in place of the default `4g` (DYNAMIC_DEFAULT_CONFIG, default, version 1)")


def test_an_overridden_default_that_most_have_is_told_only_once(audit: Audit, past: Past):
    for dag in ("a", "b", "c"):
        past([ConfigLayer(FILE, "base.properties:1", {MEMORY: "3g"})], dag=dag)
    past(memory("6g", "3g"), dag="d")

    assert [row["dag"] for row in audit("overrides-default")] == ["d"]
    assert audit("between-dags") == []


def test_a_default_that_is_a_secret_is_hidden(audit: Audit, past: Past):
    secret = {"spark.app.password": "c4nary"}
    past([ConfigLayer(FILE, "base.properties:1", secret)], dag="a")
    past(
        [
            ConfigLayer(ConfigSource.DAG_CONFIG, "conf", {"spark.app.password": "${vault:a:b}"}),
            ConfigLayer(FILE, "base.properties:1", secret),
        ]
    )

    (row,) = audit("overrides-default")

    assert row["detail"] == (
        "`${vault:a:b}` (DAG_CONFIG, conf) in place of the default `[hidden]` (STATIC_FILE_CONFIG, base.properties:1)"
    )


def test_a_key_that_is_different_everywhere_is_no_finding(audit: Audit, past: Past):
    for dag in ("a", "b", "c"):
        past({"spark.app.name": dag}, dag=dag)

    assert audit("between-dags") == []


def test_what_another_environment_has_otherwise_is_found(audit: Audit, past: Past, tmp_path: Any):
    there = Past(tmp_path / "there")
    past({MEMORY: "4g", "spark.same": "1", "spark.here": "1"})
    there({MEMORY: "8g", "spark.same": "1"})
    there({MEMORY: "8g"}, task="other")

    assert told(audit("between-environments", against=there)) == [
        ("other", "", "this task is only there"),
        ("report", MEMORY, "here `4g` (DAG_CONFIG, conf), there `8g` (DAG_CONFIG, conf)"),
        ("report", "spark.here", "here `1` (DAG_CONFIG, conf), there not set"),
    ]


def test_only_the_last_run_is_compared_with_another_environment(audit: Audit, past: Past, tmp_path: Any):
    there = Past(tmp_path / "there")
    past({MEMORY: "4g", "spark.old": "1"}, run="r1", day=1)
    past({MEMORY: "8g"}, run="r2", day=2)
    there({MEMORY: "8g"})

    assert audit("between-environments", against=there) == []


@pytest.mark.parametrize(
    ("document", "is_unused"),
    [
        pytest.param((DEFAULT.name, "", "", "spark.a"), False, id="default-used"),
        pytest.param((DEFAULT.name, "", "", "spark.b"), True, id="default-unused"),
        pytest.param((OF_DAG.name, "flights", "", "spark.a"), False, id="dag-used"),
        pytest.param((OF_DAG.name, "billing", "", "spark.a"), True, id="other-dag"),
        pytest.param((OF_TASK.name, "flights", "report", "spark.a"), False, id="task-used"),
        pytest.param((OF_TASK.name, "flights", "gone", "spark.a"), True, id="other-task"),
    ],
)
def test_a_key_that_no_run_had_is_found(audit: Audit, past: Past, document: Any, is_unused: bool):
    past([layer(source, a="1") for source in (DEFAULT, OF_DAG, OF_TASK)])

    settings = [(*document, "1", "dynamic, version 1", "", "")]  # too old for its history to be kept

    found = [(row["dag"], row["task"], row["key"]) for row in audit("unused", documents=settings)]

    assert found == [document[1:]] * is_unused


def setting(*, dag: str = "flights", task: str = "", at: str, value: str | None = "1") -> tuple[Any, ...]:
    """Return a setting of ``spark.new`` by ann."""
    source = OF_TASK if task else OF_DAG if dag else DEFAULT
    return (source.name, dag, task, "spark.new", value, "dynamic, version 3", "ann", f"2026-11-{at}+00:00")


@pytest.mark.parametrize("where", [{"dag": ""}, {"dag": "flights"}, {"task": "report"}, {"dag": "billing"}], ids=str)
@pytest.mark.parametrize("at", ["01T12:00:00", "01T12:00:01"], ids=["in-the-same-second", "later"])
def test_a_setting_without_a_run_since_it_was_made_is_not_unused(
    audit: Audit, past: Past, where: dict[str, str], at: str
):
    past({"spark.a": "1"}, day=1)

    assert audit("unused", documents=[setting(**where, at=at)]) == []


@pytest.mark.parametrize("where", [{"dag": ""}, {"dag": "flights"}, {"task": "report"}], ids=str)
def test_an_unused_setting_is_shown_with_who_made_it_and_when(audit: Audit, past: Past, where: dict[str, str]):
    past({"spark.a": "1"}, day=2)

    (row,) = audit("unused", documents=[setting(**where, at="01T12:34:56")])

    assert row["detail"].startswith("`1` (DYNAMIC_")
    assert row["detail"].endswith(", dynamic, version 3), set by ann at 2026-11-01 12:34 UTC; no run had it")


def test_a_run_without_any_configuration_shows_that_a_setting_is_unused(audit: Audit, past: Past):
    past({}, day=2)

    assert len(audit("unused", documents=[setting(at="01T12:00:00")])) == 1


def test_a_setting_of_a_task_that_does_not_run_any_longer_is_unused_and_said_so(audit: Audit, past: Past):
    past({"spark.a": "1"}, day=2)

    (row,) = audit("unused", documents=[setting(task="gone", at="01T12:00:00")])

    assert row["detail"].endswith("; its DAG has run since, but not this task")


def test_a_secret_that_no_run_had_is_hidden(audit: Audit, past: Past):
    past({"spark.a": "1"}, day=2)

    (row,) = audit("unused", documents=[setting(at="01T12:00:00", value=None)])

    assert row["detail"].startswith("`[hidden]` (DYNAMIC_DAG_CONFIG, ")


def test_an_override_that_always_loses_is_found(audit: Audit, past: Past):
    past([layer(ConfigSource.DAG_CONFIG, "conf", a="1", b="1"), layer(OF_TASK, a="2")])
    past([layer(ConfigSource.DAG_CONFIG, "conf", a="1", b="1"), layer(OF_TASK, a="2")], run="r2", day=2)

    (row,) = audit("always-loses")

    assert told([row]) == [
        ("report", "spark.a", "`1` (DAG_CONFIG, conf) lost each time, the last time to DYNAMIC_TASK_CONFIG")
    ]
    assert row["runs"] == 2


def test_an_override_that_wins_once_is_no_finding(audit: Audit, past: Past):
    past([layer(ConfigSource.DAG_CONFIG, a="1"), layer(RUN, a="2")])
    past([layer(ConfigSource.DAG_CONFIG, a="1")], run="r2", day=2)

    assert audit("always-loses") == []


def test_a_default_that_no_task_takes_is_found(audit: Audit, past: Past):
    for day, dag in enumerate("ab", 1):
        origin = f"base.properties:{day}"  # a line more was written above it
        past([layer(FILE, origin, a="1", b="1"), layer(ConfigSource.DAG_CONFIG, a=dag)], dag=dag, day=day)

    (row,) = audit("default-not-taken")

    assert (row["dag"], row["key"], row["runs"]) == ("", "spark.a", 2)
    assert row["detail"] == (
        "`1` (STATIC_FILE_CONFIG, base.properties:2) is taken by none of the 2 tasks that have it; the last time it "
        "lost to DAG_CONFIG"
    )


def in_bundle(version: str) -> dict[str, Any]:
    """What a record says of the bundle of its DAG."""
    return {
        "versions": {"bundle": "git", "bundle_version": version},
        "dag_file": f"/bundles/git/versions/{version}/flights.py",
    }


def test_a_default_in_a_bundle_is_the_same_in_each_version_of_it(audit: Audit, past: Past):
    for day, version in enumerate(("c0ffee", "decade"), 1):
        origin = f"/bundles/git/versions/{version}/base.properties:{day}"
        own = layer(ConfigSource.DAG_CONFIG, a="2")
        past([layer(FILE, origin, a="1"), own], dag=f"flights{day}", day=day, **in_bundle(version))

    (row,) = audit("default-not-taken")

    assert (row["runs"], row["detail"]) == (
        2,
        f"`1` (STATIC_FILE_CONFIG, {origin}) is taken by none of the 2 tasks that have it; the last time it lost to "
        f"DAG_CONFIG",
    )


@pytest.mark.parametrize("kind", ["between-runs", "between-dags", "only-in-failed", "before-failure"])
def test_a_path_in_a_bundle_is_the_same_in_each_version_of_it(audit: Audit, past: Past, kind: str):
    for number, version in enumerate(("c0ffee", "decade", "facade"), 1):
        path = f"/bundles/git/versions/{version}/a.py"
        problems = ("no",) if version == "facade" else ()
        for dag in ("flights", "trains"):
            past({"spark.a": path}, dag=dag, run=f"r{number}", day=number, problems=problems, **in_bundle(version))
    past({"spark.a": "/bundles/git/versions/c0ffee/a.py"}, dag="ships", **in_bundle("c0ffee"))

    assert [row for row in audit(kind) if row["key"]] == []


def test_another_path_in_a_bundle_is_another_value_as_it_was_written(audit: Audit, past: Past):
    for number, version in enumerate(("c0ffee", "decade"), 1):
        path = f"/bundles/git/versions/{version}/{number}.py"
        past({"spark.a": path}, run=f"r{number}", day=number, **in_bundle(version))

    before, after = "/bundles/git/versions/c0ffee/1.py", "/bundles/git/versions/decade/2.py"
    detail = f"`{before}` (DAG_CONFIG, conf), then `{after}` (DAG_CONFIG, conf)"
    assert told(audit("between-runs")) == [("report", "spark.a", detail)]


def test_the_same_path_in_two_bundles_is_not_the_same_value(audit: Audit, past: Past):
    for day, bundle in enumerate(("one", "two"), 1):
        of = {"versions": {"bundle": bundle, "bundle_version": "c0ffee"}, "dag_file": f"/{bundle}/c0ffee/flights.py"}
        past({"spark.a": f"/{bundle}/c0ffee/a.py"}, run=f"r{day}", day=day, **of)

    assert len(audit("between-runs")) == 1


def test_a_default_that_the_only_task_with_it_does_not_take_is_found(audit: Audit, past: Past):
    past([layer(FILE, "base.properties:1", a="1"), layer(ConfigSource.DAG_CONFIG, a="2")])

    (row,) = audit("default-not-taken")

    assert "is not taken by the only task that has it; the last time it lost to DAG_CONFIG" in row["detail"]


def test_what_refused_runs_share_and_good_ones_do_not_have_is_found(audit: Audit, past: Past):
    for day in (1, 2):
        past({MEMORY: "4g", "spark.a": "1"}, run=f"r{day}", day=day)
    for day in (3, 4):
        past({MEMORY: "64g", "spark.a": "1"}, run=f"r{day}", day=day, problems=("too much",))

    assert told(audit("only-in-failed")) == [
        ("report", MEMORY, "`64g` (DAG_CONFIG, conf) in each failed run (2), and in no good one (2)")
    ]


def test_a_value_that_good_runs_had_from_another_layer_is_not_only_in_failed_ones(audit: Audit, past: Past):
    past([layer(FILE, "base.properties:1", a="1")], run="r1", day=1)
    past([layer(OF_DAG, "flights, version 2", a="1")], run="r2", day=2, problems=("too much",))

    assert audit("only-in-failed") == []


def test_runs_that_airflow_says_failed_count_as_failed(audit: Audit, past: Past):
    past({MEMORY: "4g"}, run="r1", day=1)
    past({MEMORY: "64g"}, run="r2", day=2)
    ended = [("flights", "report", "r1", -1, False), ("flights", "report", "r2", -1, True)]

    assert [row["key"] for row in audit("only-in-failed", outcomes=ended)] == [MEMORY]


def test_a_run_of_which_nobody_knows_how_it_ended_is_neither_failed_nor_good(audit: Audit, past: Past):
    for day, memory in enumerate(("4g", "64g", "64g", "4g"), 1):
        past({MEMORY: memory}, run=f"r{day}", day=day)
    ended = [("flights", "report", "r1", -1, False), ("flights", "report", "r3", -1, True)]

    assert told(audit("only-in-failed", outcomes=ended)) == [
        ("report", MEMORY, "`64g` (DAG_CONFIG, conf) in each failed run (1), and in no good one (1)")
    ]


def test_a_failure_goes_on_over_a_run_of_which_nobody_knows_how_it_ended(audit: Audit, past: Past):
    for day, memory in enumerate(("4g", "64g", "64g", "64g"), 1):
        past({MEMORY: memory}, run=f"r{day}", day=day)
    ended = [("flights", "report", run, -1, run != "r1") for run in ("r1", "r2", "r4")]

    (row,) = audit("before-failure", outcomes=ended)

    assert (row["key"], row["first"][:10], row["runs"]) == (MEMORY, "2026-11-02", 2)


def test_what_changed_before_a_failure_began_is_found(audit: Audit, past: Past):
    refused = {"problems": ("no",)}
    past({"spark.a": "1"}, run="r1", day=1)
    past([layer(OF_DAG, "flights, version 7", a="2")], run="r2", day=2, **refused)
    past([layer(OF_DAG, "flights, version 8", a="3")], run="r3", day=3, **refused)

    (row,) = audit("before-failure")

    assert told([row]) == [
        ("report", "spark.a", "`1` (DAG_CONFIG, conf), then `2` (DYNAMIC_DAG_CONFIG, flights, version 7)")
    ]
    assert (row["runs"], row["first"][:10], row["last"][:10]) == (2, "2026-11-02", "2026-11-03")
    assert (row["before_layer"], row["after_layer"]) == ("DAG_CONFIG, conf", "DYNAMIC_DAG_CONFIG, flights, version 7")


def test_a_failure_without_a_change_is_told(audit: Audit, past: Past):
    past({"spark.a": "1"}, run="r1", day=1)
    past({"spark.a": "1"}, run="r2", day=2, problems=("no",))

    assert told(audit("before-failure")) == [("report", "", "nothing in the configuration changed")]


def test_a_long_value_is_cut(audit: Audit, past: Past):
    past({"spark.a": "x" * 1500}, run="r1", day=1)
    past({"spark.a": "1"}, run="r2", day=2)

    assert audit("between-runs")[0]["detail"].startswith(f"`{'x' * 200}...` (DAG_CONFIG")


def test_all_kinds_are_found_at_once_in_order(session: Any, past: Past):
    past({MEMORY: "4g"}, run="r1", day=1)
    past({MEMORY: "64g"}, run="r2", day=2, problems=("too much",))

    with history_of(session, frame(session, past), KnownElsewhere()) as history:
        found = history.findings()

    assert [row["kind"] for row in found] == ["before-failure", "between-runs", "only-in-failed"]


def test_no_records_have_no_findings(session: Any, past: Past):
    past.folder.mkdir()

    with history_of(session, frame(session, past), KnownElsewhere()) as history:
        assert history.findings() == []


def drift(session: Any, past: Past) -> Drift:
    with history_of(session, frame(session, past), KnownElsewhere()) as history:
        return drift_of(history.runs, history.changes)


def test_changes_are_counted_by_week_key_and_dag(session: Any, past: Past):
    for day, (one, other) in enumerate(("11", "21", "31", "32"), 7):
        past({"spark.a": one, "spark.b": other}, run=f"r{day}", day=day)

    assert drift(session, past) == Drift(
        by_week=[("2026-11-02", 1), ("2026-11-09", 2)],
        by_key=Ranking([("spark.a", 2), ("spark.b", 1)], 2),
        by_dag=Ranking([("flights", 3)], 1),
        runs=4,
        tasks=1,
    )


def test_no_records_have_no_drift(session: Any, past: Past):
    past.folder.mkdir()

    assert drift(session, past) == Drift([], Ranking([]), Ranking([]))
