"""What the page about found leaks says about Parquet, tried on files."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.docs.pages import ROOT, snippets

pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")

PAGE = ROOT / "docs" / "how-to" / "remove-leaks.md"


@pytest.fixture
def remove_rows() -> Callable[[str, set[int]], None]:
    names: dict[str, Any] = {}
    [code] = [snippet.text for snippet in snippets(PAGE) if "def remove_rows" in snippet.text]
    exec(code, names)
    found: Callable[[str, set[int]], None] = names["remove_rows"]
    return found


@pytest.mark.parametrize("compression", ["none", "snappy", "gzip", "zstd", "lz4", "brotli"])
def test_the_other_rows_keep_their_compression(
    remove_rows: Callable[[str, set[int]], None], tmp_path: Path, compression: str
) -> None:
    path = str(tmp_path / "runs.parquet")
    pq.write_table(pa.table({"note": ["a", "leak", "c"]}), path, compression=compression)
    before = pq.ParquetFile(path).metadata.row_group(0).column(0).compression

    remove_rows(path, {2})

    after = pq.ParquetFile(path)
    assert after.read().to_pydict() == {"note": ["a", "c"]}
    assert after.metadata.row_group(0).column(0).compression == before
