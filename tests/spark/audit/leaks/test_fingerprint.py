"""Fingerprints and their file reveal nothing of values."""

from __future__ import annotations

import json
import stat
from pathlib import Path

import pytest

pytest.importorskip("numpy")

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from airflow_config_providers.core.reversal.encodings import ENCODINGS
from airflow_config_providers.exceptions import ConfigException
from airflow_config_providers.spark.audit.leaks import fingerprint
from airflow_config_providers.spark.audit.leaks.fingerprint import MIDDLE_BITS, read_fingerprints, write_fingerprints
from airflow_config_providers.spark.audit.leaks.leak_finder import KnownSecret
from airflow_config_providers.spark.audit.leaks.sought import Sought
from tests.calls import events_of
from tests.spark.audit.leaks.fingerprinted import FINGERPRINTS, KEY, LONG_VALUE, OTHER, OTHER_KEY, SECRETS, TOKEN, VALUE


def test_a_fingerprint_shows_no_key_and_no_value() -> None:
    assert "kkkk" not in repr(KEY)
    assert VALUE not in repr(Sought(SECRETS, FINGERPRINTS, KEY))


def test_the_work_for_a_value_grows_with_its_lines_and_not_faster() -> None:
    def work(lines: int) -> int:
        value = "\n".join(f'"line" {number}: {number * 7_919:x}' for number in range(lines))
        return len(events_of(lambda: list(KEY.of_secrets([KnownSecret(TOKEN, value)]))))

    assert work(80) < 3 * work(40)


def test_without_the_key_nothing_of_it_depends_on_guesses() -> None:
    [mine] = [one for one in KEY.of_secrets(SECRETS[1:2]) if one.encoding == "hex"][:1]
    [theirs] = [one for one in OTHER_KEY.of_secrets(SECRETS[1:2]) if one.encoding == "hex"][:1]

    assert mine.digest != theirs.digest
    assert mine.middle != theirs.middle


def test_without_the_key_a_common_middle_cannot_be_seen() -> None:
    secrets = [KnownSecret(TOKEN, f"{number}-the-same-middle-{number}") for number in range(8)]

    assert len({one.middle for one in KEY.of_secrets(secrets) if one.encoding == "plain"}) == 8


def test_without_the_key_common_edges_cannot_be_seen() -> None:
    secrets = [KnownSecret(TOKEN, f"{LONG_VALUE}{number}{LONG_VALUE}") for number in range(8)]

    assert len({one.edges for one in KEY.of_secrets(secrets) if one.encoding == "plain"}) == 8


def test_what_is_written_is_read(tmp_path: Path) -> None:
    write_fingerprints(str(tmp_path / "prints"), FINGERPRINTS, KEY)

    assert set(read_fingerprints(str(tmp_path / "prints"), KEY)) == set(FINGERPRINTS)
    assert stat.S_IMODE((tmp_path / "prints").stat().st_mode) == 0o600


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=40)
@given(value=st.text(st.characters(min_codepoint=33, max_codepoint=126), min_size=12, max_size=40))
def test_no_part_of_a_value_is_in_it(tmp_path: Path, value: str) -> None:
    write_fingerprints(str(tmp_path / "prints"), KEY.of_secrets([KnownSecret(TOKEN, value)]), KEY)

    content = (tmp_path / "prints").read_text()

    words = "reference encoding size middle digest kind format key airflow-config-providers fingerprints"
    names = "".join([*ENCODINGS, str(TOKEN), words])
    parts = {value[place : place + 6] for place in range(len(value) - 5)}
    assert not [part for part in parts if part in content and part not in names]


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        pytest.param({}, "Name another file.", id="file"),
        pytest.param({"way_out": "Make room."}, "Make room.", id="state"),
    ],
)
def test_what_cannot_be_written_says_what_to_do(tmp_path: Path, given: dict[str, str], expected: str) -> None:
    with pytest.raises(ConfigException, match=f"cannot be written to .*: No such file or directory. {expected}$"):
        write_fingerprints(str(tmp_path / "missing" / "prints"), FINGERPRINTS, KEY, **given)


def test_the_fingerprints_of_another_key_are_refused(tmp_path: Path) -> None:
    write_fingerprints(str(tmp_path / "prints"), FINGERPRINTS, KEY)

    with pytest.raises(ConfigException, match="made with another key"):
        read_fingerprints(str(tmp_path / "prints"), OTHER_KEY)


def test_a_value_that_is_too_large_leaves_the_file_readable(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fingerprint, "_LONGEST", len(OTHER))
    write_fingerprints(str(tmp_path / "prints"), KEY.of_secrets(SECRETS), KEY)

    found = read_fingerprints(str(tmp_path / "prints"), KEY)

    assert max(one.size for one in found) == len(OTHER)


@pytest.mark.parametrize(
    "content",
    [
        pytest.param(b"", id="empty"),
        pytest.param(b"hello\n", id="text"),
        pytest.param(b"\xff\xfe\x00", id="binary"),
        pytest.param(b"[" * 10_000 + b"\n", id="nested"),
        pytest.param(b"x" * 200_000, id="endless line"),
        pytest.param(b'{"kind": "airflow-config-providers fingerprints", "format": 3, "key": ""}\n', id="later"),
    ],
)
def test_another_file_is_refused_and_not_replaced(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "other").write_bytes(content)

    for use in (lambda path: read_fingerprints(path, KEY), lambda path: write_fingerprints(path, [], KEY)):
        with pytest.raises(ConfigException, match="has no fingerprints, or is damaged") as caught:
            use(str(tmp_path / "other"))
        assert caught.value.__context__ is None  # which would have a line of the file
    assert (tmp_path / "other").read_bytes() == content


@pytest.mark.parametrize(
    "change",
    [
        pytest.param({"size": 4}, id="too short"),
        pytest.param({"size": 1 << 40}, id="too long"),
        pytest.param({"size": True}, id="no number"),
        pytest.param({"middle": 1 << MIDDLE_BITS}, id="middle"),
        pytest.param({"middle": -1}, id="negative"),
        pytest.param({"digest": "00"}, id="digest"),
        pytest.param({"digest": "AB" * 16}, id="upper case"),
        pytest.param({"digest": "x" * 32}, id="no digits"),
        pytest.param({"edges": "00"}, id="edges"),
        pytest.param({"edges": None}, id="no edges"),
        pytest.param({"reference": None}, id="reference"),
    ],
)
def test_a_damaged_row_is_refused(tmp_path: Path, change: dict[str, object]) -> None:
    write_fingerprints(str(tmp_path / "prints"), FINGERPRINTS[:1], KEY)
    header, row = (tmp_path / "prints").read_text().splitlines()
    (tmp_path / "prints").write_text(f"{header}\n{json.dumps({**json.loads(row), **change})}\n")

    with pytest.raises(ConfigException, match="damaged"):
        read_fingerprints(str(tmp_path / "prints"), KEY)


@pytest.mark.parametrize("lost", [1, len(FINGERPRINTS)], ids=["last", "all"])
def test_a_file_that_has_lost_whole_lines_is_damaged(tmp_path: Path, lost: int) -> None:
    write_fingerprints(str(tmp_path / "prints"), FINGERPRINTS, KEY)
    lines = (tmp_path / "prints").read_text().splitlines(keepends=True)
    (tmp_path / "prints").write_text("".join(lines[:-lost]))

    with pytest.raises(ConfigException, match="damaged"):
        read_fingerprints(str(tmp_path / "prints"), KEY)


def test_an_older_file_does_not_say_how_many_it_has(tmp_path: Path) -> None:
    write_fingerprints(str(tmp_path / "prints"), FINGERPRINTS, KEY)
    first, *lines = (tmp_path / "prints").read_text().splitlines(keepends=True)
    header = json.loads(first)
    del header["count"]
    (tmp_path / "prints").write_text("".join([f"{json.dumps(header)}\n", *lines]))

    assert set(read_fingerprints(str(tmp_path / "prints"), KEY)) == set(FINGERPRINTS)


def test_as_many_as_can_be_read_are_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fingerprint, "_MOST", len(FINGERPRINTS))

    write_fingerprints(str(tmp_path / "prints"), FINGERPRINTS, KEY)

    assert len(read_fingerprints(str(tmp_path / "prints"), KEY)) == len(FINGERPRINTS)


def test_more_than_can_be_read_are_not_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fingerprint, "_MOST", len(FINGERPRINTS) - 1)

    with pytest.raises(ConfigException, match=r"that a file can have\. Search for fewer values at a time"):
        write_fingerprints(str(tmp_path / "prints"), FINGERPRINTS, KEY)

    assert list(tmp_path.iterdir()) == []


def test_more_than_can_be_read_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_fingerprints(str(tmp_path / "prints"), FINGERPRINTS, KEY)
    monkeypatch.setattr(fingerprint, "_MOST", len(FINGERPRINTS) - 1)

    with pytest.raises(ConfigException, match="that a file can have"):
        read_fingerprints(str(tmp_path / "prints"), KEY)


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigException, match="cannot be read: It cannot be opened: No such file"):
        read_fingerprints(str(tmp_path / "missing"), KEY)


def test_those_of_a_long_value_are_written_with_the_digest_of_its_edges(tmp_path: Path) -> None:
    prints = list(KEY.of_secrets([KnownSecret(TOKEN, LONG_VALUE)]))
    write_fingerprints(str(tmp_path / "prints"), prints, KEY)

    assert set(read_fingerprints(str(tmp_path / "prints"), KEY)) == set(prints)
    assert all(one.edges for one in prints)
