"""What earlier audits have searched, and the version of the search, which changes if it finds something else."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

pytest.importorskip("numpy")

import subprocess
import sys
from collections.abc import Iterator, Mapping

import pytest

from airflow_config_providers.core.reversal.encodings import ENCODINGS, Encoding
from airflow_config_providers.core.variable import ConfigVariable
from airflow_config_providers.exceptions import ConfigException
from airflow_config_providers.spark.audit.leaks.file_listing import FoundFile
from airflow_config_providers.spark.audit.leaks.fingerprint import read_fingerprints
from airflow_config_providers.spark.audit.leaks.leak_finder import CURRENT, EARLIER, KnownSecret, Occurrence
from airflow_config_providers.spark.audit.leaks.seen_files import SearchedFile, SeenFiles, search_version
from airflow_config_providers.spark.audit.leaks.sought import Sought
from tests.spark.audit.leaks.fingerprinted import KEY, OTHER_KEY, PASSWORD, SECRETS, TOKEN, VALUE


def test_a_rotated_value_is_searched_for_by_its_fingerprint(tmp_path: Path) -> None:
    SeenFiles.open(str(tmp_path), Sought([KnownSecret(PASSWORD, VALUE)], key=KEY))

    seen = SeenFiles.open(str(tmp_path), Sought([KnownSecret(PASSWORD, "the new passw0rd")], key=KEY))

    [one] = seen.sought.finder().find(VALUE.encode())
    assert (one.reference, one.age) == (str(PASSWORD), EARLIER)


def test_an_excepted_reference_is_not_searched_for_and_not_forgotten(tmp_path: Path) -> None:
    SeenFiles.open(str(tmp_path), Sought(SECRETS, key=KEY))

    excepting = SeenFiles.open(str(tmp_path), Sought(SECRETS[1:], key=KEY, excepted=[str(PASSWORD)]))
    later = SeenFiles.open(str(tmp_path), Sought(SECRETS[1:], key=KEY))

    assert str(PASSWORD) not in {one.reference for one in excepting.sought.fingerprints}
    assert str(PASSWORD) in {one.reference for one in later.sought.fingerprints}


def test_an_earlier_value_is_found_though_an_excepted_reference_has_it_now(tmp_path: Path) -> None:
    new = KnownSecret(PASSWORD, "the new passw0rd")
    SeenFiles.open(str(tmp_path), Sought([KnownSecret(PASSWORD, VALUE)], key=KEY))
    SeenFiles.open(str(tmp_path), Sought([new, KnownSecret(TOKEN, VALUE)], key=KEY))

    excepting = SeenFiles.open(str(tmp_path), Sought([new], key=KEY, excepted=[str(TOKEN)]))

    [one] = excepting.sought.finder().find(VALUE.encode())
    assert (one.reference, one.age) == (str(PASSWORD), EARLIER)


@pytest.mark.parametrize(("excepted", "found"), [(PASSWORD, TOKEN), (TOKEN, PASSWORD)])
def test_an_earlier_value_is_remembered_for_each_reference_that_had_it(
    tmp_path: Path, excepted: ConfigVariable, found: ConfigVariable
) -> None:
    for first, second in ((VALUE, VALUE), ("the new passw0rd", "the new t0ken"), ("the third", "the f0urth")):
        SeenFiles.open(str(tmp_path), Sought([KnownSecret(PASSWORD, first), KnownSecret(TOKEN, second)], key=KEY))

    excepting = SeenFiles.open(
        str(tmp_path), Sought([KnownSecret(found, "the fifth one")], key=KEY, excepted=[str(excepted)])
    )

    [one] = excepting.sought.finder().find(VALUE.encode())
    assert (one.reference, one.age) == (str(found), EARLIER)


def test_what_is_kept_grows_only_with_new_values(tmp_path: Path) -> None:
    sizes = []
    for value in ("generation-1", "generation-2", "generation-1", "generation-2"):
        SeenFiles.open(str(tmp_path), Sought([KnownSecret(PASSWORD, value)], key=KEY))
        sizes.append((tmp_path / "fingerprints.jsonl").stat().st_size)

    assert sizes[0] < sizes[1] == sizes[2] == sizes[3]


@pytest.mark.parametrize("size", [0, 60, 400])
def test_damaged_fingerprints_are_refused_with_the_way_out(tmp_path: Path, size: int) -> None:
    SeenFiles.open(str(tmp_path), Sought(SECRETS, key=KEY))
    os.truncate(tmp_path / "fingerprints.jsonl", size)

    with pytest.raises(ConfigException, match=r"fingerprints\.jsonl cannot be read, or is damaged\. Restore it"):
        SeenFiles.open(str(tmp_path), Sought(SECRETS, key=KEY))


def test_fingerprints_that_cannot_be_read_are_not_called_damaged(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fingerprints.jsonl")

    with pytest.raises(ConfigException, match=r"cannot be read: It is no regular file\. Run the audit again"):
        SeenFiles.open(str(tmp_path), Sought(SECRETS, key=KEY))


def test_what_was_searched_is_kept_though_it_cannot_be_seen_for_what(tmp_path: Path) -> None:
    state = tmp_path / "state"
    SeenFiles.open(str(state), Sought(SECRETS, key=KEY)).keep([SearchedFile(FoundFile("/log", 1, 1))])
    (state / "secrets.json").rename(tmp_path / "aside")
    (state / "secrets.json").symlink_to(tmp_path / "aside")  # a link is not read

    with pytest.raises(ConfigException, match=r"secrets\.json cannot be read: .*Run the audit again"):
        SeenFiles.open(str(state), Sought(SECRETS, key=KEY))

    assert len(list(state.glob("seen-*"))) == 1


def test_without_anything_to_search_for_what_is_kept_stays(tmp_path: Path) -> None:
    SeenFiles.open(str(tmp_path), Sought(SECRETS)).keep([SearchedFile(FoundFile("/log", 1, 1))])
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}

    with pytest.raises(ConfigException, match="There is no value to search for"):
        SeenFiles.open(str(tmp_path), Sought())

    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before


def test_a_folder_that_takes_nothing_more_ends_no_audit_and_is_named_once(tmp_path: Path) -> None:
    seen = SeenFiles.open(str(tmp_path / "state"), Sought(SECRETS, key=KEY))
    seen.keep([SearchedFile(FoundFile("/first", 1, 1))])
    (tmp_path / "state").rename(tmp_path / "full")

    for path in ("/second", "/third"):
        seen.keep([SearchedFile(FoundFile(path, 1, 1))])
    seen.compact({"/first", "/second", "/third"})

    [note] = seen.notes
    assert "not all of what was searched could be kept there (No such file or directory)" in note
    assert list(seen.files) == ["/first"]
    later = SeenFiles.open(str(tmp_path / "full"), Sought(SECRETS, key=KEY))
    assert list(later.files) == ["/first"]


@pytest.mark.parametrize("name", ["seen-00000000-x.jsonl", "secrets.json", "fingerprints.jsonl"])
def test_a_folder_that_is_named_like_a_file_of_an_audit_is_refused(tmp_path: Path, name: str) -> None:
    (tmp_path / name).mkdir()

    with pytest.raises(ConfigException, match=rf"it has other files, such as {name}\. Name an empty folder"):
        SeenFiles.open(str(tmp_path), Sought(SECRETS, key=KEY))


@pytest.mark.parametrize("name", ["seen-00000000-a.jsonl", "seen-99999999-z.jsonl"], ids=["first", "last"])
def test_a_part_that_cannot_be_removed_ends_no_audit_and_keeps_no_other(tmp_path: Path, name: str) -> None:
    seen = SeenFiles.open(str(tmp_path), Sought(SECRETS, key=KEY))
    for path in ("/first", "/second"):
        seen.keep([SearchedFile(FoundFile(path, 1, 1))])
    (tmp_path / name).mkdir()  # while the audit runs

    seen.compact({"/first", "/second"})

    [note] = seen.notes
    assert "older parts could not be removed there (Is a directory)" in note
    (tmp_path / name).rmdir()
    [part] = tmp_path.glob("seen-*")
    assert [json.loads(line)[0][0] for line in part.read_text().splitlines()] == ["/first", "/second"]


def test_what_a_killed_audit_has_kept_is_later_than_what_was_compacted(tmp_path: Path) -> None:
    before, after = FoundFile("/log", 1, 1), FoundFile("/log", 2, 2)
    first = SeenFiles.open(str(tmp_path), Sought(SECRETS, key=KEY))
    for file in (before, FoundFile("/other", 1, 1)):
        first.keep([SearchedFile(file)])
    first.compact({"/log", "/other"})
    SeenFiles.open(str(tmp_path), Sought(SECRETS, key=KEY)).keep([SearchedFile(after)])

    assert SeenFiles.open(str(tmp_path), Sought(SECRETS, key=KEY)).files["/log"].file == after


def test_parts_are_in_order_though_their_numbers_have_become_longer(tmp_path: Path) -> None:
    seen = SeenFiles.open(str(tmp_path), Sought(SECRETS, key=KEY))
    seen.keep([SearchedFile(FoundFile("/log", 1, 1))])
    [part] = tmp_path.glob("seen-*")
    part.rename(tmp_path / "seen-99999999-a.jsonl")
    seen.keep([SearchedFile(FoundFile("/log", 2, 2))])

    assert SeenFiles.open(str(tmp_path), Sought(SECRETS, key=KEY)).files["/log"].file.size == 2


def test_only_the_user_can_read_what_is_kept(tmp_path: Path) -> None:
    SeenFiles.open(str(tmp_path / "state"), Sought(SECRETS, key=KEY))

    assert {path.stat().st_mode & 0o777 for path in (tmp_path / "state").iterdir()} == {0o600}


def test_several_generations_are_remembered(tmp_path: Path) -> None:
    for value in ("generation-1", "generation-2", "generation-3"):
        seen = SeenFiles.open(str(tmp_path), Sought([KnownSecret(PASSWORD, value)], key=KEY))

    found: list[Occurrence] = list(seen.sought.finder().find(b"generation-1 generation-2 generation-3"))

    assert [one.age for one in found] == [EARLIER, EARLIER, CURRENT]


def test_with_another_key_the_earlier_ones_are_kept_aside_with_a_note(tmp_path: Path) -> None:
    SeenFiles.open(str(tmp_path), Sought(SECRETS, key=KEY))

    seen = SeenFiles.open(str(tmp_path), Sought(SECRETS[:1], key=OTHER_KEY))

    assert seen.sought.fingerprints == ()
    assert "made with another password_encoder_secret" in seen.notes[0]
    [aside] = tmp_path.glob("fingerprints.jsonl.*")
    assert aside.name in seen.notes[0]
    assert set(read_fingerprints(str(aside), KEY)) == set(Sought(SECRETS, key=KEY).own_fingerprints())
    SeenFiles.open(str(tmp_path), Sought(SECRETS[:1], key=OTHER_KEY))  # it is no file of somebody else


def test_without_a_key_a_note_says_what_is_missing(tmp_path: Path) -> None:
    seen = SeenFiles.open(str(tmp_path), Sought(SECRETS))

    assert "password_encoder_secret is not set" in seen.notes[0]


def test_the_folder_has_no_value(tmp_path: Path) -> None:
    SeenFiles.open(str(tmp_path), Sought(SECRETS, key=KEY))

    kept = b"".join(path.read_bytes() for path in tmp_path.iterdir())
    assert not list(Sought(SECRETS).finder().find(kept))


def reversed_text(text: str) -> Iterator[str]:
    yield text[::-1]


@pytest.mark.parametrize("name", ENCODINGS)
def test_each_encoding_is_a_part_of_the_version(name: str) -> None:
    others = {other: encoding for other, encoding in ENCODINGS.items() if other != name}

    assert search_version(others) != search_version()


@pytest.mark.parametrize(
    "encodings",
    [
        pytest.param({**ENCODINGS, "backwards": reversed_text}, id="one more"),
        pytest.param({**ENCODINGS, "hex": reversed_text}, id="another one with an old name"),
        pytest.param({"bare" if name == "plain" else name: one for name, one in ENCODINGS.items()}, id="a new name"),
    ],
)
def test_a_change_of_the_encodings_is_a_new_version(encodings: Mapping[str, Encoding]) -> None:
    assert search_version(encodings) != search_version()


@pytest.mark.parametrize("name", [name for name in ENCODINGS if name != "plain"])
def test_an_encoding_that_changes_less_than_now_is_another_version(name: str) -> None:
    assert search_version({**ENCODINGS, name: ENCODINGS["plain"]}) != search_version()


def twice(encoding: Encoding) -> Encoding:
    return lambda text: iter([*encoding(text), *encoding(text)])


def test_encodings_that_make_the_same_forms_in_another_way_are_the_same_version() -> None:
    assert search_version({name: twice(encoding) for name, encoding in ENCODINGS.items()}) == search_version()


def test_all_processes_of_one_version_agree() -> None:
    module = "airflow_config_providers.spark.audit.leaks.seen_files"
    script = f"from {module} import search_version; print(search_version(), end='')"
    versions = {
        subprocess.run(
            [sys.executable, "-c", script],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    }

    assert versions == {search_version()}
