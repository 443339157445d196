"""The settings of what encrypts secrets of the dynamic configuration."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from io import StringIO

import pytest

pytest.importorskip("airflow")

from airflow.configuration import conf as airflow_conf

from airflow_config_providers import settings
from airflow_config_providers.airflow_compat import conf
from airflow_config_providers.cli.encoder import _encoder
from airflow_config_providers.core.sensitive import Password
from airflow_config_providers.dynamic.password_encoder import ITERATIONS, EncoderSettings, EncryptedText
from airflow_config_providers.exceptions import ConfigException
from airflow_config_providers.job.steered_layers import Opener

WRONG = {
    "password_encoder_keyfactory_algorithm": "PBKDF2WithHmacMD5",
    "password_encoder_cipher_algorithm": "DES/CBC/PKCS5Padding",
    "password_encoder_key_length": "64",
    "password_encoder_iterations": "many",
}


@pytest.fixture
def given(monkeypatch):
    """Return a function that sets settings of this process, of which a secret is already set."""

    def give(**options):
        for name, text in options.items():
            monkeypatch.setenv(f"AIRFLOW__CONFIG_PROVIDERS__{name.upper()}", text)

    give(password_encoder_secret="an-encoder-secret")
    return give


def sealed() -> EncryptedText:
    return EncryptedText.read(settings.seal()(Password("hunter2")))


def test_secrets_are_encrypted_with_the_strongest_by_default(given):
    assert sealed().settings == EncoderSettings("PBKDF2WITHHMACSHA512", "AES/GCM/NOPADDING", 256, ITERATIONS)


def test_secrets_are_encrypted_as_the_settings_say(given):
    given(
        password_encoder_keyfactory_algorithm="PBKDF2WithHmacSHA256",
        password_encoder_cipher_algorithm="AES/CBC/PKCS5Padding",
        password_encoder_key_length="128",
        password_encoder_iterations="4096",
    )

    assert sealed().settings == EncoderSettings("PBKDF2WITHHMACSHA256", "AES/CBC/PKCS5PADDING", 128, 4096)


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_setting_of_the_encoder_is_named_where_a_secret_is_encrypted(given, name):
    given(**{name: WRONG[name]})

    with pytest.raises(ConfigException, match=rf"\[config_providers\] {name} is") as told:
        sealed()
    assert len(told.value.problems) == 1


@pytest.mark.parametrize(
    "use",
    [
        pytest.param(sealed, id="seal"),
        pytest.param(_encoder, id="encoder rotate"),
        pytest.param(lambda: Opener()._encoder, id="a task"),
    ],
)
def test_all_wrong_settings_of_the_encoder_are_told_at_once_wherever_it_is_used(given, use):
    given(**WRONG)

    with pytest.raises(ConfigException) as told:
        use()
    assert all(name in str(told.value) for name in WRONG)


def test_a_wrong_setting_of_the_encoder_stops_nobody_who_encrypts_nothing(given):
    given(**WRONG)

    assert settings.seal() is not None


def test_an_encoder_of_the_settings_reads_what_was_encrypted_with_the_old_secret_and_other_settings(given):
    text = settings.password_encoder().encode(Password("hunter2"))
    given(
        password_encoder_secret="the-next-secret",
        password_encoder_old_secret="an-encoder-secret",
        password_encoder_iterations="5000",
    )

    assert settings.password_encoder().decode(text) == Password("hunter2")


def test_without_a_secret_there_is_no_encoder(given):
    given(password_encoder_secret="")

    assert settings.password_encoder() is None
    assert settings.seal() is None


@pytest.fixture
def in_file() -> Iterator[Callable[[str, str], None]]:
    """Return a function that puts an option of the section into airflow.cfg, as far as this process sees it."""
    before = dict(conf.items(settings.SECTION, raw=True)) if conf.has_section(settings.SECTION) else None

    def put(option: str, text: str) -> None:
        if not conf.has_section(settings.SECTION):
            conf.add_section(settings.SECTION)
        conf.set(settings.SECTION, option, text)

    yield put
    conf.remove_section(settings.SECTION)
    if before is not None:
        conf.read_dict({settings.SECTION: before})


@pytest.mark.parametrize("indirect", ["password_encoder_secret_cmd", "password_encoder_secret_secret"])
def test_a_command_behind_an_empty_option_is_refused_because_airflow_does_not_read_it(in_file, indirect):
    in_file("password_encoder_secret", "")
    in_file(indirect, "echo a-secret-from-a-command")

    with pytest.raises(ConfigException, match=f"password_encoder_secret is empty, so Airflow does not read {indirect}"):
        settings.password_encoder_secret()


def test_a_command_is_read_if_the_option_itself_is_not_there(in_file):
    in_file("password_encoder_secret_cmd", "echo a-secret-from-a-command")

    assert settings.password_encoder_secret() == "a-secret-from-a-command"


def test_a_new_airflow_cfg_has_no_line_that_keeps_airflow_from_reading_a_command():
    file = StringIO()
    airflow_conf.write(file, section=settings.SECTION, only_defaults=True, show_values=True)
    lines = file.getvalue().splitlines()

    assert {"# password_encoder_secret = ", "# password_encoder_old_secret = "} <= set(lines)
    assert "dynamic_enabled = True" in lines


@pytest.mark.parametrize("option", ["password_encoder_secret", "password_encoder_old_secret"])
def test_a_command_that_fails_shows_nothing_of_what_it_printed(monkeypatch, option):
    monkeypatch.setenv(
        f"AIRFLOW__CONFIG_PROVIDERS__{option.upper()}_CMD", "sh -c 'echo c4nary; echo c4nary >&2; exit 1'"
    )

    with pytest.raises(ConfigException, match=f"{option}_cmd is set, its command has failed") as caught:
        getattr(settings, option)()

    assert caught.value.__context__ is None
    assert "c4nary" not in str(caught.value)
