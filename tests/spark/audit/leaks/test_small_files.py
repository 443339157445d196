"""Small files are searched together, and each has the result that it has alone."""

from __future__ import annotations

import gzip
import os
from collections.abc import Iterable, Sequence
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from airflow_config_providers.core.variable import ConfigVariable
from airflow_config_providers.spark.audit.leaks.file_listing import FoundFile, Split
from airflow_config_providers.spark.audit.leaks.fingerprint import FingerprintKey
from airflow_config_providers.spark.audit.leaks.leak import Found, FoundLeak
from airflow_config_providers.spark.audit.leaks.leak_finder import KnownSecret
from airflow_config_providers.spark.audit.leaks.sought import Sought
from airflow_config_providers.spark.audit.leaks.split_search import search_all
from tests.descriptors import open_descriptors
from tests.spark.audit.leaks.searching import search

PASSWORD = ConfigVariable("vault", "apps/db", "password")
VALUE = "c4nary-Pa$$w0rd/of+the=audit"
TOKEN = "ghp_" + "a1B2" * 9  # of no account
SECRETS = (KnownSecret(PASSWORD, VALUE),)
KEY = FingerprintKey(bytes(32))
FINDERS = {
    "values": Sought(SECRETS).finder(),
    "fingerprints": Sought(fingerprints=KEY.of_secrets(SECRETS), key=KEY).finder(),
    "tokens": Sought(tokens=True).finder(),
    "all": Sought(SECRETS, fingerprints=KEY.of_secrets(SECRETS), key=KEY, tokens=True).finder(),
}
PIECES = ("", "x", "a line\n", "\r\n", "\\", "%", VALUE, VALUE[:14], VALUE[14:], f"{VALUE[:9]}\n  {VALUE[9:]}", TOKEN)
PIECES += (TOKEN[:2], TOKEN[2:], TOKEN[:4], VALUE.encode().hex(), "BZh", "PK\x03\x04", f"{PASSWORD}", "...")


def written(folder: Path, contents: Iterable[bytes], *, name: str = "log") -> list[Split]:
    """Return the splits of files with these contents."""
    splits = []
    for place, content in enumerate(contents):
        path = folder / f"{place:03}.{name}"
        path.write_bytes(content)
        splits.append(Split(FoundFile(str(path), len(content), 0)))
    return splits


def together(splits: Iterable[Split], sought: str = "values") -> list[Found[FoundLeak]]:
    return [one for some in search_all(splits, FINDERS[sought], lambda octets: None) for one in some]


def alone(splits: Iterable[Split], sought: str = "values") -> list[Found[FoundLeak]]:
    return [search(split, FINDERS[sought]) for split in splits]


@pytest.mark.parametrize("sought", FINDERS)
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=40)
@given(texts=st.lists(st.lists(st.sampled_from(PIECES), max_size=4), max_size=8))
def test_a_file_among_others_has_the_result_that_it_has_alone(
    tmp_path: Path, sought: str, texts: Sequence[Sequence[str]]
) -> None:
    splits = written(tmp_path, ["".join(pieces).encode() for pieces in texts])

    assert together(splits, sought) == alone(splits, sought)


@pytest.mark.parametrize("sought", FINDERS)
def test_what_two_files_have_only_together_is_no_leak(tmp_path: Path, sought: str) -> None:
    parts = [text[:place].encode() for text in (VALUE, TOKEN) for place in range(1, 4)]
    rests = [text[place:].encode() for text in (VALUE, TOKEN) for place in range(1, 4)]
    splits = written(tmp_path, [piece for pair in zip(parts, rests, strict=True) for piece in pair])

    found = together(splits, sought)

    assert found == alone(splits, sought)
    assert not any(one.leaks for one in found[::2])


def test_a_token_is_found_in_a_file_whose_neighbour_ends_like_one_that_begins(tmp_path: Path) -> None:
    key = "AKIA" + "QRSTUVWX" * 2  # of no account; "AKI" and its first letter look like its prefix, too

    [_, found] = together(written(tmp_path, [b"AKI", key.encode()]), "tokens")

    assert [leak.occurrence.start for leak in found.leaks] == [0]


def test_results_are_in_order_whatever_the_sizes(tmp_path: Path) -> None:
    sizes = (0, 10, 70_000, 0, 65_536, 3, 3, 200_000, 60_000, 6_000, *([1] * 150))
    splits = written(tmp_path, [b"\n" * size + VALUE.encode() * (size % 3 == 1) for size in sizes])

    assert together(splits) == alone(splits)


@pytest.mark.parametrize("grown", [b"", b"x", VALUE.encode(), b"\n" * 4095, b"\n" * 4096, b"\n" * 200_000])
def test_what_was_written_since_the_listing_is_left_to_the_next_audit(tmp_path: Path, grown: bytes) -> None:
    splits = written(tmp_path, [b"a\n" + VALUE.encode()[:5], b"b\n"])
    for split in splits:
        with Path(split.file.path).open("ab") as file:
            file.write(VALUE.encode()[5:] + grown)

    found = together(splits)

    assert found == alone(splits)
    assert [(len(one.leaks), one.octets, one.lines) for one in found] == [(1, 7, 1), (0, 2, 1)]


def test_each_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    gone, shorter, link, pipe, inside = splits = written(tmp_path, [b"a line\n"] * 5)
    Path(gone.file.path).unlink()
    os.truncate(shorter.file.path, 3)
    for path in (Path(link.file.path), Path(pipe.file.path)):
        path.unlink()
    Path(link.file.path).symlink_to(inside.file.path)
    os.mkfifo(pipe.file.path)

    found = together([*splits, Split(FoundFile(f"{inside.file.path}/below", 1, 0)), Split(FoundFile("a\0b", 1, 0))])

    assert [one.problem for one in found] == [
        "It cannot be opened: No such file or directory.",
        "It became shorter while it was read.",
        "It cannot be opened: Too many levels of symbolic links.",
        "It is no regular file.",
        "",
        "It cannot be opened: Not a directory.",
        "It could not be searched (ValueError).",
    ]


def test_a_folder_that_has_become_a_link_is_not_entered(tmp_path: Path) -> None:
    (tmp_path / "logs").mkdir()
    splits = written(tmp_path / "logs", [VALUE.encode()] * 2)
    (tmp_path / "logs").rename(tmp_path / "elsewhere")
    (tmp_path / "logs").symlink_to("elsewhere")

    found = together(splits)

    assert [one.leaks for one in found] == [(), ()]
    assert all(one.problem for one in found)


def test_small_compressed_files_are_searched_in_their_content(tmp_path: Path) -> None:
    whole = gzip.compress(b"a line\n" + VALUE.encode())
    splits = written(tmp_path, [whole, whole[:-9], b"no gzip", b""], name="gz")

    found = together(splits)

    assert found == alone(splits)
    assert [len(one.leaks) for one in found] == [1, 1, 0, 0]
    assert [bool(one.problem) for one in found] == [False, True, True, False]


def test_all_bytes_that_are_read_are_told(tmp_path: Path) -> None:
    told: list[int] = []
    splits = written(tmp_path, [b"quiet", VALUE.encode(), b"x" * 100_000, b"\n"])

    list(search_all(splits, FINDERS["values"], told.append))

    assert sum(told) == sum(split.file.size for split in splits)


def test_no_file_stays_open(tmp_path: Path) -> None:
    splits = written(tmp_path, [b"quiet"] * 100)
    before = open_descriptors()

    together(splits)

    assert open_descriptors() == before
