"""Each check, on what it looks at."""

from __future__ import annotations

import json
import os
import stat
import threading

import pytest

from airflow_config_providers.cli.doctor import CHECKS
from airflow_config_providers.core.provider import ConfigProvider
from airflow_config_providers.doctor import own_settings, stores, versions
from airflow_config_providers.doctor.examination import Site, examine
from airflow_config_providers.exceptions import SubmitError
from tests.doctor.conftest import said

CANARY = "c4nary"
SITE = Site("of_doctor", environ=os.environ)


class Hanging(ConfigProvider):
    """Never answers."""

    def get(self, path, keys=None):
        raise AssertionError("a value was read")

    def check(self):
        threading.Event().wait()


class HangingWhileConfigured(Hanging):
    """Does not even get to be asked."""

    def configure(self, configs):
        threading.Event().wait()


class Failing(Hanging):
    """Fails with an error that quotes a secret."""

    def check(self):
        raise RuntimeError(CANARY)


def of_settings(**environ):
    return said(
        own_settings.check_settings(
            Site("x", environ={f"AIRFLOW__CONFIG_PROVIDERS__{k}": v for k, v in environ.items()})
        )
    )


def test_settings_that_are_right_are_one_finding():
    assert of_settings() == ["ok: All settings of [config_providers] are known and valid."]


def test_an_unknown_setting_is_found_with_the_nearest():
    (found,) = of_settings(CONFIG_FILE=CANARY)

    assert found == "error: [config_providers] has no setting 'config_file', did you mean 'config_files'?"


BACKEND = "airflow_config_providers.secrets.config_providers.ConfigProvidersBackend"


def examined(monkeypatch, option, tmp_path):
    (tmp_path / "c.yaml").write_text(f"db:\n  conn_typ: {CANARY}\n")
    monkeypatch.setenv(f"AIRFLOW__{option}", BACKEND)
    monkeypatch.setenv(f"AIRFLOW__{option}_KWARGS", json.dumps({"connections_file_path": str(tmp_path / "c.yaml")}))
    return said(own_settings.check_backend(SITE))


@pytest.mark.parametrize("option", ["SECRETS__BACKEND", "WORKERS__SECRETS_BACKEND"])
def test_a_wrong_entry_of_the_secrets_backend_is_found(monkeypatch, tmp_path, option):
    found = examined(monkeypatch, option, tmp_path)

    assert found == [
        f"ok: '{tmp_path}/c.yaml' defines 1 connection.",
        f"error: connection db in {tmp_path}/c.yaml:1: 'conn_typ' is not a field, did you mean 'conn_type'?",
    ]


def test_a_secrets_backend_of_another_package_is_not_examined(monkeypatch):
    monkeypatch.setenv("AIRFLOW__SECRETS__BACKEND", "airflow.secrets.local_filesystem.LocalFilesystemBackend")

    assert said(own_settings.check_backend(SITE)) == ["ok: Airflow uses no secrets backend of this package."]


def test_without_a_secrets_backend_there_is_nothing_to_examine():
    assert said(own_settings.check_backend(SITE)) == ["ok: Airflow uses no secrets backend of this package."]


def test_a_secret_may_come_from_a_command():
    assert "ok" in of_settings(PASSWORD_ENCODER_SECRET_CMD="cat x")[0]


WRONG = [
    ("apply_to", "sparc"),
    ("dynamic_enabled", "maybe"),
    ("follow_interval", "0"),
    ("max_workers", "many"),
    ("reload_settling", "-1"),
    ("reloads_per_hour", "0"),
    ("resolve_in", "here"),
    ("resolve_timeout", "x"),
    ("unknown_keys", "never"),
    ("unresolved", "drop"),
]


@pytest.mark.parametrize(("name", "text"), WRONG)
def test_a_wrong_setting_is_an_error(setting, name, text):
    setting(name, text)

    (found,) = said(own_settings.check_settings(Site("x")))
    assert found.startswith(f"error: [config_providers] {name}")


@pytest.mark.parametrize(("name", "text"), [*WRONG, ("resolve_in", "drive")])
def test_a_wrong_setting_has_a_way_out(setting, name, text):
    setting(name, text)

    (found,) = own_settings.check_settings(Site("x"))
    assert found.way_out == "Correct it in airflow.cfg."


@pytest.mark.parametrize(
    ("secret", "expected"),
    [
        ("", "warning: [config_providers] password_encoder_secret is not set"),
        ("aaaaaaaaaaaaaaaaaaaaaaaa", "warning: [config_providers] password_encoder_secret has few different"),
        ("Zm9vYmFyYmF6cXV4MTIzNDU2", "ok: [config_providers] password_encoder_secret is set"),
    ],
)
def test_the_secret_of_the_encoder_is_judged(setting, monkeypatch, secret, expected):
    monkeypatch.setenv("AIRFLOW__CORE__FERNET_KEY", "c2VjcmV0LW9mLXRoaXMtdGVzdC0wMTIzNDU2Nzg5MDE=")
    setting("password_encoder_secret", secret)

    (found,) = said(stores.check_encryption(SITE))
    assert found.startswith(expected)
    assert not secret or secret not in found


def test_without_the_secret_of_the_encoder_what_is_missing_is_said(setting):
    setting("password_encoder_secret", "")

    assert "no secret can be stored, and records have no hashes of values" in "".join(
        said(stores.check_encryption(SITE))
    )


def test_a_rotation_that_has_not_ended_is_found(setting):
    setting("password_encoder_old_secret", CANARY * 4)

    found = "".join(said(stores.check_encryption(SITE)))
    assert "A rotation has not ended" in found
    assert CANARY not in found


def test_a_connection_that_can_be_read_is_fine(connect):
    site = connect(**{"config.providers": "env", "config.providers.env.class": "env"})

    assert said(stores.check_connection(site)) == ["ok: Connection 'of_doctor' can be read."]


@pytest.mark.parametrize(
    ("field", "meant", "way_out"),
    [
        pytest.param("config.provider.x.class", "config.providers.x.class", "Correct its name.", id="key"),
        pytest.param("config.reload.actio", "config.reload.action", "Correct its name.", id="reload action"),
        pytest.param("owner", "", "Remove it.", id="unlike any"),
    ],
)
def test_a_field_that_is_misspelt_is_not_to_be_removed_but_corrected(connect, field, meant, way_out):
    found = next(iter(stores.check_connection(connect(**{field: "x"}))))

    assert found.what.endswith(f"is not read, did you mean '{meant}'?" if meant else "is not read.")
    assert found.way_out == way_out


def test_a_uri_without_a_question_mark_is_recognised(connect, monkeypatch):
    site = connect()
    monkeypatch.setenv("AIRFLOW_CONN_OF_DOCTOR", "config-providers://config.providers=x")
    (found,) = stores.check_connection(site)

    assert "the extra begins after a question mark" in found.way_out


def test_fields_that_nothing_reads_are_found_without_what_is_in_them(connect):
    found = said(stores.check_connection(connect(conn_type="generic", propertys=CANARY)))

    assert found == [
        "warning: Connection 'of_doctor' has the type 'generic'.",
        "warning: 'propertys' in the extra of 'of_doctor' is not read, did you mean 'properties'?",
        "error: Connection 'of_doctor' defines no provider.",
    ]


def test_a_name_that_airflow_takes_for_a_secret_is_found(connect):
    definition = {"config.providers": "secrets", "config.providers.secrets.class": "env"}
    written = "".join(f"{key}={text}\n" for key, text in definition.items())

    assert any(
        "'config.providers.secrets.class' and its" in found
        for found in said(stores.check_connection(connect(**definition)))
    )
    assert said(stores.check_connection(connect(properties=written))) == ["ok: Connection 'of_doctor' can be read."]


def of_provider(connect, name, **params):
    path = f"{__name__}.{name}"
    extra = {f"config.providers.x.param.{param}": text for param, text in params.items()}
    return connect(**{"config.providers": "x", "config.providers.x.class": path, **extra})


def test_a_provider_that_hangs_is_a_finding(connect, setting):
    setting("allowed_provider_classes", f"{__name__}.Hanging")
    site = of_provider(connect, "Hanging")

    (found,) = said(stores.check_providers(Site(site.conn_id, patience=2)))
    assert found.startswith("error: x: no answer within 2 seconds")


@pytest.mark.parametrize("name", ["Hanging", "HangingWhileConfigured"])
def test_a_provider_that_is_late_is_named_whatever_it_hangs_in(connect, setting, name):
    """The check is not stopped before it has said which one it is, however slow the machine is."""
    setting("allowed_provider_classes", f"{__name__}.{name}")
    site = of_provider(connect, name)

    found = examine({"providers": CHECKS["providers"]}, Site(site.conn_id, patience=2), tick=lambda: None)
    assert said(one.diagnosis for one in found) == ["error: x: no answer within 2 seconds"]


def test_a_provider_that_fails_shows_no_text_of_its_error(connect, setting):
    setting("allowed_provider_classes", f"{__name__}.Failing")

    (found,) = said(stores.check_providers(of_provider(connect, "Failing")))
    place = f"{__file__}:{Failing.check.__code__.co_firstlineno + 1}"
    assert found == f"error: x: its check failed with RuntimeError in {place}"


def test_a_wrong_definition_does_not_hide_the_other_providers(connect, tmp_path):
    tmp_path.chmod(0o777)
    site = connect(
        **{
            "config.providers": "a,b",
            "config.providers.a.class": "valt",
            "config.providers.b.class": "file",
            "config.providers.b.param.allowed.paths": str(tmp_path),
        }
    )

    found = "\n".join(said(stores.check_providers(site)))
    assert "error: config.providers.a.class: there is no provider 'valt', did you mean 'vault'?" in found
    assert "ok: b: 1 allowed path" in found
    assert f"error: b: Every user of this machine can change '{tmp_path}'." in found


def test_layer_files_and_policies_are_loaded_and_their_rights_judged(setting, tmp_path):
    (tmp_path / "base.yaml").write_text("spark:\n  a: 1\n")
    (tmp_path / "base.yaml").chmod(0o666)
    (tmp_path / "bad.properties").write_text(f"spark.a={CANARY}\nspark.a=2\n")
    (tmp_path / "policies.yaml").write_text("policies:\n- name: a\n  class: nope\n")
    setting("config_files", f"{tmp_path}/base.yaml,{tmp_path}/bad.properties,{tmp_path}/{{{{ ds }}}}.properties")
    setting("policies_file", f"{tmp_path}/policies.yaml")

    found = "\n".join(said(own_settings.check_files(SITE)))
    assert f"ok: The layer file '{tmp_path}/base.yaml' sets 1 key." in found
    assert f"error: Every user of this machine can change '{tmp_path}/base.yaml'." in found
    assert "bad.properties: 'spark.a' is set in lines 1, 2." in found
    assert "error: policies.yaml:3" in found
    assert "ds" not in found
    assert CANARY not in found


def test_policies_that_only_warn_are_named(setting, tmp_path):
    rest = "class: dynamic_allocation"
    warns = f"enforcement: warn, {rest}"
    (tmp_path / "policies.yaml").write_text(
        f"policies: [{{name: a, {rest}}}, {{name: b, {warns}}}, {{name: c, {warns}}}]"
    )
    setting("policies_file", f"{tmp_path}/policies.yaml")

    found = said(own_settings.check_files(SITE))
    path = f"{tmp_path}/policies.yaml"
    assert f"ok: The policies file '{path}' loads, with 3 policies. These only warn: 'b', 'c'." in found


def test_records_in_a_folder_of_this_machine_are_a_warning(setting, tmp_path):
    setting("records_path", str(tmp_path))

    assert any(one.startswith("warning: ") and "workers elsewhere" in one for one in said(stores.check_records(SITE)))


def test_a_folder_of_records_that_no_try_has_created_yet_is_a_warning_and_not_readable(setting, tmp_path):
    setting("records_path", f"{tmp_path}/records")

    assert said(stores.check_records(SITE)) == [
        f"warning: There is no directory '{tmp_path}/records' yet. The first try that leaves a record here creates it."
    ]


def test_no_records_are_a_warning(setting):
    setting("records_enabled", "False")

    assert said(stores.check_records(SITE)) == ["warning: Tries leave no records, so describe --run shows nothing."]


def test_the_versions_that_are_tested_are_supported():
    assert not [one for one in said(versions.check_versions(SITE)) if not one.startswith("ok: ")]


@pytest.mark.parametrize(("version", "is_in"), [("3.2.1", False), ("3.3.0", True), ("3.4.0b2", True), ("3.5.0", False)])
def test_a_version_is_compared_with_what_this_package_requires(version, is_in):
    assert versions._is_in(version, ">=3.2.2,<3.5") is is_in


def program(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)


def spark_of(tmp_path, version, java, **more):
    program(tmp_path / "bin" / "spark-submit", "exit 1")
    program(tmp_path / "bin" / "spark-class", "exit 1")
    (tmp_path / "RELEASE").write_text(f"Spark {version} built for Hadoop 3.4.1\n")
    program(tmp_path / "java" / "bin" / "java", f"echo 'openjdk version \"{java}\"' >&2")
    environ = {"PATH": f"{tmp_path}/bin:/bin", "JAVA_HOME": f"{tmp_path}/java", "SPARK_HOME": str(tmp_path)}
    return "\n".join(said(versions.check_spark(Site("x", environ={**environ, **more}))))


@pytest.mark.parametrize(
    ("version", "java", "expected"),
    [
        pytest.param("3.5.8", "1.8.0_402", "ok: Java 8 fits.", id="old"),
        pytest.param("4.0.1", "11.0.2", "error: Java 11 is too old for Spark 4.0.1.", id="too old"),
        pytest.param("4.1.0", "17.0.1", "ok: Java 17 fits.", id="new"),
        pytest.param("9.0.0", "21", "is Spark 9.0.0; the keys of 3.5 to", id="unknown"),
        pytest.param("3.4.0", "17", "and spark-submit is 3.4.0.", id="another than PySpark"),
    ],
)
def test_spark_and_java_must_fit_together(tmp_path, version, java, expected):
    assert expected in spark_of(tmp_path, version, java)


def test_spark_must_write_temporary_files(tmp_path):
    (tmp_path / "file").touch()

    found = spark_of(tmp_path, "4.1.0", "17.0.1", SPARK_SUBMIT_OPTS=f"-Djava.io.tmpdir={tmp_path}/file")

    assert f"error: Spark cannot write temporary files to {tmp_path}/file: Not a directory." in found


def test_a_machine_without_spark_is_an_error(tmp_path):
    with pytest.raises(SubmitError, match="is not on the PATH"):
        list(versions.check_spark(Site("x", environ={"PATH": str(tmp_path)})))
