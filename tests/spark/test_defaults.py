from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from airflow_config_providers.exceptions import SubmitError
from airflow_config_providers.spark.installation import SparkInstallation


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
