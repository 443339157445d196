"""A ``spark-env.sh`` that leads Spark to another configuration."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping
from pathlib import Path

import pytest

from airflow_config_providers.spark.installation import SparkInstallation, doubt_of_defaults, doubt_of_mode
from tests.limits import LONGEST


@pytest.fixture
def before(tmp_path: Path) -> Path:
    """Return a directory of Spark's configuration, beside another one."""
    for name in ("before", "after"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "spark-defaults.conf").touch()
    return tmp_path / "before"


def doubt(before: Path, script: str, **environ: str) -> str:
    (before / "spark-env.sh").write_text(script)
    known = {"PATH": os.environ["PATH"], "SPARK_CONF_DIR": str(before), **environ}
    return doubt_of_defaults(SparkInstallation.of("/opt/bin/spark-submit", known))


@pytest.mark.parametrize(
    "script",
    [
        pytest.param("export SPARK_CONF_DIR={}", id="exported"),
        pytest.param("SPARK_CONF_DIR={}", id="not exported"),
        pytest.param("if true; then SPARK_CONF_DIR=$OTHER; fi", id="from the environment"),
        pytest.param('echo said; echo said >&2; SPARK_CONF_DIR="$SPARK_CONF_DIR/../after"', id="beside the first"),
        pytest.param("cat; SPARK_CONF_DIR={}", id="after reading its input"),
    ],
)
def test_a_script_that_sets_another_directory_causes_a_doubt(before: Path, script: str) -> None:
    after = before.parent / "after"
    found = doubt(before, script.replace("{}", str(after)), OTHER=str(after))

    assert found.startswith(f"spark-env.sh in {before} sets SPARK_CONF_DIR to ")
    assert "Set SPARK_CONF_DIR in the environment of the worker instead." in found


@pytest.mark.parametrize(
    "script",
    [
        pytest.param("# SPARK_CONF_DIR=/etc/other", id="comment"),
        pytest.param("export SPARK_CONF_DIR=${SPARK_CONF_DIR:-/etc/other}", id="default"),
        pytest.param('[ -n "$SPARK_CONF_DIR" ] || SPARK_CONF_DIR=/etc/other', id="condition"),
        pytest.param('SPARK_CONF_DIR="$SPARK_CONF_DIR/."', id="the same"),
        pytest.param("SPARK_CONF_DIR=/etc/other; exit 1", id="failure"),
        pytest.param("touch ran", id="another purpose"),
    ],
)
def test_a_script_that_leaves_the_directory_causes_none(
    before: Path, script: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(before)

    assert doubt(before, script) == ""
    assert not Path("ran").exists()


def test_a_script_that_spark_does_not_run_again_causes_none(before: Path) -> None:
    assert doubt(before, "SPARK_CONF_DIR=/etc/other", SPARK_ENV_LOADED="1") == ""


def test_directories_without_defaults_cause_none(before: Path) -> None:
    (before / "spark-defaults.conf").unlink()

    assert doubt(before, "SPARK_CONF_DIR=/etc/other") == ""


def test_sparks_own_script_leaves_the_directory_that_the_doubt_names(before: Path) -> None:
    home = Path(pytest.importorskip("pyspark").__file__).parent
    after = before.parent / "after"
    found = doubt(before, f"SPARK_CONF_DIR={after}; OTHER=$SPARK_HOME", SPARK_HOME=str(home))
    loaded = subprocess.run(
        ["bash", "-c", f". {home}/bin/load-spark-env.sh; printf %s $SPARK_CONF_DIR"],
        env={"PATH": os.environ["PATH"], "SPARK_CONF_DIR": str(before), "SPARK_HOME": str(home)},
        capture_output=True,
        text=True,
        check=True,
        timeout=LONGEST,
    )

    assert loaded.stdout == str(after)
    assert f"sets SPARK_CONF_DIR to {after}," in found


@pytest.mark.parametrize(
    ("script", "environ", "is_told"),
    [
        pytest.param("DEPLOY_MODE=cluster", {}, True, id="set"),
        pytest.param("export DEPLOY_MODE=${DEPLOY_MODE:-cluster}", {}, True, id="default"),
        pytest.param(": ${DEPLOY_MODE:=cluster}", {}, True, id="unless set"),
        pytest.param("if [ ${#X} -gt 0 ]; then DEPLOY_MODE=cluster; fi", {}, True, id="behind a length"),
        pytest.param("DEPLOY_MODE=clu\nDEPLOY_MODE+=ster", {}, True, id="in two parts"),
        pytest.param("DEPLOY_MODE=client-x", {}, True, id="another word"),
        pytest.param("DEPLOY_MODE=client", {}, False, id="client"),
        pytest.param("export DEPLOY_MODE='client' # as ever", {}, False, id="client in quotes"),
        pytest.param("export DEPLOY_MODE=client X=1", {}, False, id="client before another variable"),
        pytest.param("export DEPLOY_MODE=client DEPLOY_MODE=cluster", {}, True, id="client, and then another"),
        pytest.param("X=1 # DEPLOY_MODE=cluster", {}, False, id="comment behind another"),
        pytest.param("# DEPLOY_MODE=cluster", {}, False, id="comment"),
        pytest.param("OUR_DEPLOY_MODE=cluster", {}, False, id="another variable"),
        pytest.param("DEPLOY_MODE=cluster", {"SPARK_ENV_LOADED": "1"}, False, id="not run again"),
    ],
)
def test_a_script_that_sets_the_mode_is_told(
    before: Path, script: str, environ: Mapping[str, str], is_told: bool
) -> None:
    (before / "spark-env.sh").write_text(script)
    found = doubt_of_mode(SparkInstallation.of("/opt/bin/spark-submit", {"SPARK_CONF_DIR": str(before), **environ}))

    assert found.startswith(f"spark-env.sh in {before} sets DEPLOY_MODE") is is_told


def test_spark_takes_the_mode_that_its_script_sets(before: Path) -> None:
    home = Path(pytest.importorskip("pyspark").__file__).parent
    (before / "spark-env.sh").write_text("DEPLOY_MODE=cluster")
    done = subprocess.run(
        [home / "bin" / "spark-submit", "--master", "local", "job.py"],
        env={**os.environ, "SPARK_CONF_DIR": str(before), "SPARK_HOME": str(home)},
        capture_output=True,
        text=True,
        timeout=LONGEST,
        check=False,
    )

    assert 'Cluster deploy mode is not compatible with master "local"' in done.stderr
