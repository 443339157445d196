"""The Spark on this machine: its version, its defaults, and a spark-env.sh that leads it elsewhere."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from airflow_config_providers.exceptions import SubmitError
from airflow_config_providers.spark.installation import SparkInstallation, doubt_of_defaults, doubt_of_mode, version_in
from tests.limits import LONGEST


def spark(home: Path, *, release: str = "", jar: str = "") -> Path:
    """Lay out a Spark."""
    for name in ("bin/spark-submit", "bin/spark-class"):
        path = home / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch(mode=0o755)
    (home / "jars").mkdir()
    if release:
        (home / "RELEASE").write_text(release)
    if jar:
        (home / "jars" / jar).touch()
    return home


@pytest.mark.parametrize(
    ("release", "jar", "expected"),
    [
        pytest.param("Spark 3.5.8 built for Hadoop 3.3.4\nflags", "", "3.5.8", id="an archive"),
        pytest.param("Spark 4.0.1 (git revision x) built", "", "4.0.1", id="an archive with a revision"),
        pytest.param("", "spark-core_2.13-4.2.0.jar", "4.2.0", id="a Python package"),
        pytest.param("", "spark-core_2.12-3.5.0-amzn-1.jar", "3.5.0-amzn-1", id="a vendor's"),
        pytest.param("nothing", "spark-core_2.13-4.2.0.jar", "4.2.0", id="another file"),
        pytest.param("", "", None, id="neither"),
    ],
)
def test_the_version_in_a_home(release: str, jar: str, expected: str | None, tmp_path: Path) -> None:
    assert version_in(spark(tmp_path / "spark", release=release, jar=jar)) == expected


def test_it_is_that_of_spark_home(tmp_path: Path) -> None:
    home = spark(tmp_path / "home", jar="spark-core_2.12-3.5.8.jar")
    other = spark(tmp_path / "other", jar="spark-core_2.13-4.2.0.jar")

    assert (
        SparkInstallation.of("spark-submit", {"SPARK_HOME": str(home), "PATH": str(other / "bin")}).version == "3.5.8"
    )


def test_it_is_that_of_the_command_without_spark_home(tmp_path: Path) -> None:
    home = spark(tmp_path / "home", jar="spark-core_2.12-3.5.8.jar")

    assert SparkInstallation.of("spark-submit", {"PATH": str(home / "bin")}).version == "3.5.8"


def test_there_is_none_without_spark(tmp_path: Path) -> None:
    assert SparkInstallation.of("spark-submit", {"PATH": str(tmp_path)}).version is None


def test_the_home_is_looked_for_once(tmp_path: Path) -> None:
    home = spark(tmp_path / "home", jar="spark-core_2.12-3.5.8.jar")
    found = SparkInstallation.of("spark-submit", {"PATH": str(home / "bin")})
    before = found.home
    (home / "bin" / "spark-class").unlink()

    assert found.home == before == home


def test_another_environment_leads_to_another_home(tmp_path: Path) -> None:
    home, other = spark(tmp_path / "home"), spark(tmp_path / "other")
    found = SparkInstallation.of("spark-submit", {"PATH": str(home / "bin")})

    assert (found.home, replace(found, environ={"SPARK_HOME": str(other)}).home) == (home, other)


def test_the_environment_is_not_shown(tmp_path: Path) -> None:
    assert "hidden" not in repr(SparkInstallation.of("spark-submit", {"PATH": str(tmp_path), "TOKEN": "hidden"}))


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


def executable(path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("#!/bin/sh\n")
    path.chmod(0o755)
    return path


def spark_home(path: Path, defaults: bool = True) -> Path:
    """Lay out a Spark as its archive and its Python package have it."""
    executable(path / "bin" / "spark-submit")
    executable(path / "bin" / "spark-class")
    if defaults:
        (path / "conf").mkdir()
        (path / "conf" / "spark-defaults.conf").write_text("spark.a 1\n")
    return path


def pip_scripts(path: Path) -> Path:
    """Lay out the directory into which pip puts Spark's scripts."""
    for name in ("spark-submit", "spark-class", "find_spark_home.py"):
        executable(path / name)
    return path


def located(binary: str = "spark-submit", **environ: object) -> Path | None:
    found = SparkInstallation.of(binary, {name: str(value) for name, value in environ.items()}).defaults
    return Path(found.path) if found else None


def test_the_defaults_of_spark_conf_dir_come_first(tmp_path: Path) -> None:
    home = spark_home(tmp_path / "spark")
    conf = tmp_path / "conf"
    conf.mkdir()
    (conf / "spark-defaults.conf").touch()

    found = located(SPARK_CONF_DIR=conf, SPARK_HOME=home, PATH=home / "bin")

    assert found == conf / "spark-defaults.conf"


def test_spark_conf_dir_without_defaults_hides_those_of_spark_home(tmp_path: Path) -> None:
    assert located(SPARK_CONF_DIR=tmp_path, SPARK_HOME=spark_home(tmp_path / "spark")) is None


def test_the_defaults_of_spark_home_come_before_those_of_the_command(tmp_path: Path) -> None:
    home, other = spark_home(tmp_path / "spark"), spark_home(tmp_path / "other")

    assert located(SPARK_HOME=home, PATH=other / "bin") == home / "conf" / "spark-defaults.conf"


def test_empty_variables_count_as_not_set(tmp_path: Path) -> None:
    home = spark_home(tmp_path / "spark")

    found = located(SPARK_CONF_DIR="", SPARK_HOME="", PATH=home / "bin")

    assert found == home / "conf" / "spark-defaults.conf"


def test_the_command_on_the_path_leads_to_the_defaults(tmp_path: Path) -> None:
    home = spark_home(tmp_path / "spark")

    assert located(PATH=home / "bin") == home / "conf" / "spark-defaults.conf"


def test_a_command_given_by_its_path_leads_to_the_defaults(tmp_path: Path) -> None:
    home = spark_home(tmp_path / "spark")

    assert located(str(home / "bin" / "spark-submit")) == home / "conf" / "spark-defaults.conf"


def test_links_to_the_command_are_followed(tmp_path: Path) -> None:
    home = spark_home(tmp_path / "spark-3.5.8")
    (tmp_path / "current").symlink_to(home)
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "spark-submit").symlink_to(tmp_path / "current" / "bin" / "spark-submit")

    assert located(PATH=tmp_path / "bin") == home / "conf" / "spark-defaults.conf"


@pytest.mark.parametrize("package", ["lib/python3.11/site-packages", "lib64/python3/dist-packages", "."])
def test_scripts_that_pip_copied_lead_to_the_package(package: str, tmp_path: Path) -> None:
    scripts, home = pip_scripts(tmp_path / "bin"), spark_home(tmp_path / package / "pyspark")

    assert located(PATH=scripts) == home / "conf" / "spark-defaults.conf"


@pytest.mark.parametrize("layout", ["no spark-submit", "no defaults", "a distribution's own script"])
def test_there_may_be_no_defaults(layout: str, tmp_path: Path) -> None:
    if layout == "no defaults":
        spark_home(tmp_path, defaults=False)
    elif layout == "a distribution's own script":
        executable(tmp_path / "bin" / "spark-submit")

    assert located(PATH=tmp_path / "bin") is None


def test_the_package_is_found_where_sparks_own_script_finds_it() -> None:
    pytest.importorskip("pyspark")
    scripts = Path(sys.executable).parent
    if not (scripts / "find_spark_home.py").is_file():
        pytest.skip("spark-submit is not installed beside this Python: pip install pyspark")
    found = subprocess.run(
        [sys.executable, scripts / "find_spark_home.py"], env={}, check=True, capture_output=True, text=True
    )

    assert SparkInstallation.of(str(scripts / "spark-submit"), {}).conf_directory == Path(found.stdout.strip(), "conf")


def test_no_spark_submit_is_said_with_the_way_out(tmp_path: Path) -> None:
    with pytest.raises(SubmitError, match=r"^spark3-submit is not on the PATH .* 'pip install pyspark'"):
        SparkInstallation.of("spark3-submit", {"PATH": str(tmp_path)}).require_command()


@pytest.mark.parametrize("name", ["spark-submit", "spark-sql"])
def test_spark_home_without_spark_is_said_for_a_script_of_sparks_own(name: str, tmp_path: Path) -> None:
    home = spark_home(tmp_path / "spark")
    for script in (name, "find-spark-home", "java"):
        executable(home / "bin" / script)

    with pytest.raises(SubmitError, match=rf"^SPARK_HOME is .*old, but there is no bin/spark-class.*{name} then uses"):
        SparkInstallation.of(name, {"PATH": str(home / "bin"), "SPARK_HOME": str(tmp_path / "old")}).require_command()


def test_a_distributions_own_script_may_replace_spark_home(tmp_path: Path) -> None:
    binary = executable(tmp_path / "bin" / "spark-submit")
    executable(tmp_path / "bin" / "java")
    environ = {"PATH": str(tmp_path / "bin"), "SPARK_HOME": str(tmp_path / "old")}

    assert SparkInstallation.of("spark-submit", environ).require_command() == binary


def test_no_java_is_said_with_the_way_out(tmp_path: Path) -> None:
    home = spark_home(tmp_path)

    with pytest.raises(SubmitError, match=r"needs Java.* Install Java 17, or set JAVA_HOME"):
        SparkInstallation.of("spark-submit", {"PATH": str(home / "bin")}).require_command()


def test_java_home_without_java_is_said_even_with_java_on_the_path(tmp_path: Path) -> None:
    home = spark_home(tmp_path / "spark")
    executable(home / "bin" / "java")

    with pytest.raises(SubmitError, match=r"^JAVA_HOME is .*jdk, but there is no bin/java in it"):
        SparkInstallation.of(
            "spark-submit", {"PATH": str(home / "bin"), "JAVA_HOME": str(tmp_path / "jdk")}
        ).require_command()


@pytest.mark.parametrize("place", ["on the PATH", "in JAVA_HOME", "in spark-env.sh", "in a distribution's own script"])
def test_java_may_be(place: str, tmp_path: Path) -> None:
    environ = {"PATH": str(tmp_path / "bin")}
    binary = executable(tmp_path / "bin" / "spark-submit")
    if place != "in a distribution's own script":
        spark_home(tmp_path)
    if place == "on the PATH":
        executable(tmp_path / "bin" / "java")
    if place == "in JAVA_HOME":
        environ["JAVA_HOME"] = str(executable(tmp_path / "jdk" / "bin" / "java").parents[1])
    if place == "in spark-env.sh":
        (tmp_path / "conf" / "spark-env.sh").touch()

    assert SparkInstallation.of("spark-submit", environ).require_command() == binary


def test_commands_are_looked_for_on_the_path_of_the_given_environment(tmp_path: Path) -> None:
    asked: list[tuple[str, str | None]] = []

    def which(command: str, path: str | None = None) -> str | None:
        asked.append((command, path))
        return shutil.which(command, path=path)

    with pytest.raises(SubmitError):
        SparkInstallation.of("spark-submit", {"PATH": str(tmp_path)}, which=which).require_command()

    assert asked == [("spark-submit", str(tmp_path))]


@pytest.fixture
def closed() -> Iterator[Path]:
    """Yield a Spark's home that this process may not enter, beside a Spark that it may use."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)
        for name in ("closed", "open"):
            home = spark_home(Path(folder, name))
            for script in ("find-spark-home", "java"):
                executable(home / "bin" / script)
        Path(folder, "closed").chmod(0)
        user = os.geteuid()
        os.setresuid(user or 65534, user or 65534, -1)  # root may enter every directory
        try:
            yield Path(folder, "closed")
        finally:
            os.setresuid(user, user, -1)
            Path(folder, "closed").chmod(0o755)


def test_a_directory_that_may_not_be_entered_has_no_defaults(closed: Path) -> None:
    """Spark ignores it, too."""
    assert located(SPARK_CONF_DIR=closed / "conf") is None
    assert located(SPARK_HOME=closed) is None


def test_a_home_that_may_not_be_entered_has_no_version(closed: Path) -> None:
    assert SparkInstallation.of("spark-submit", {"SPARK_HOME": str(closed)}).version is None


@pytest.mark.parametrize("name", ["SPARK_HOME", "JAVA_HOME"])
def test_a_home_that_may_not_be_entered_is_said_with_the_user(name: str, closed: Path) -> None:
    environ = {"PATH": str(closed.parent / "open" / "bin"), name: str(closed)}

    with pytest.raises(SubmitError, match=rf"^{name} is .*closed, but user {os.geteuid()} may not enter it\."):
        SparkInstallation.of("spark-submit", environ).require_command()


def test_a_spark_env_sh_in_a_directory_that_may_not_be_entered_does_not_locate_java(closed: Path) -> None:
    home = closed.parent / "open"
    environ = {"SPARK_CONF_DIR": str(closed / "conf"), "JAVA_HOME": str(closed)}

    with pytest.raises(SubmitError, match=r"^JAVA_HOME is"):
        SparkInstallation.of(str(home / "bin" / "spark-submit"), environ).require_command()
