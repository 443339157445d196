"""Files that differ between two states, from real repositories."""

from __future__ import annotations

import os
import re
import shutil
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from airflow_config_providers.planning.changed_files import ChangedFiles
from airflow_config_providers.planning.dag_folder import Checkout, checked_out
from tests.planning.test_git_revision import git

needs_git = pytest.mark.skipif(shutil.which("git") is None, reason="needs git")

OLD = {
    "conf/prod.yaml": "a: 1",
    "conf/dev.yaml": "a: 1",
    "conf/deep/prod.yaml": "a: 1",
    "releases/1/base.yaml": "a: 1",
    "releases/2/base.yaml": "a: 2",
    "dags/a.py": "x = 1",
}
LINKS = {"current": "releases/1", "conf/link.yaml": "../releases/1/base.yaml"}


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """A repository with the revision ``old``."""
    folder = tmp_path / "repository"
    folder.mkdir()
    git(folder, "init", "--quiet", "--initial-branch=main")
    write(folder, OLD)
    for name, target in LINKS.items():
        (folder / name).symlink_to(target)
    commit(folder, "old")
    return folder


def write(folder: Path, files: Mapping[str, str]) -> None:
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)


def commit(folder: Path, tag: str) -> None:
    git(folder, "add", ".")
    git(folder, "commit", "--quiet", "--allow-empty", "--message", tag)
    git(folder, "tag", tag)


@contextmanager
def changed(repository: Path, first: str, second: str = "") -> Iterator[ChangedFiles]:
    """Yield what differs between two revisions; an empty one is the working tree."""
    with ExitStack() as stack:
        states = [
            stack.enter_context(checked_out(one, folder=str(repository))) if one else None for one in (first, second)
        ]
        yield ChangedFiles(*states)


def could_be(repository: Path, template: str, first: str = "old", second: str = "") -> bool:
    with changed(repository, first, second) as files:
        return bool(files.could_be([template.replace("REPO", str(repository))]))


@needs_git
@pytest.mark.parametrize(
    ("changes", "template", "expected"),
    [
        pytest.param({}, "{{ x }}", False, id="nothing differs"),
        pytest.param({"conf/prod.yaml": "a: 2"}, "REPO/conf/{{ x }}.yaml", True, id="a file that fits"),
        pytest.param({"conf/prod.yaml": "a: 1"}, "REPO/conf/{{ x }}.yaml", False, id="written again"),
        pytest.param({"conf/prod.txt": "a: 2"}, "REPO/conf/{{ x }}.yaml", False, id="another end"),
        pytest.param({"conf/deep/prod.yaml": "a: 2"}, "REPO/conf/{{ x }}.yaml", True, id="an expression with a slash"),
        pytest.param({"conf/new.yaml": ""}, "REPO/conf/{{ x }}.yaml", True, id="a new file"),
        pytest.param({"readme.md": "new"}, "${env:PATH}", True, id="a reference alone can be any file"),
        pytest.param({"readme.md": "new"}, "/elsewhere/{{ x }}", False, id="outside of the repository"),
        pytest.param({"conf/prod.yaml": "a: 2"}, "REPO/dags/../conf/{{ x }}.yaml", True, id="a step up at first"),
        pytest.param({"conf/prod.yaml": "a: 2"}, "{{ dir }}/../conf/{{ x }}.yaml", True, id="a step up later"),
        pytest.param({"conf/prod.yaml": "a: 2"}, "REPO/conf/a-{{ x }}/../prod.yaml", True, id="up from a name"),
        pytest.param({"conf/prod.yaml": "a: 2"}, "{{ dir }}//./prod.yaml", True, id="steps that stay"),
        pytest.param({"conf/prod.yaml": "a: 2"}, "{{ dir }}/../conf/dev{{ x }}", False, id="another name after steps"),
        pytest.param({".git/x.yaml": "a: 2"}, "{{ x }}.yaml", False, id="what Git keeps"),
        pytest.param({"conf/__pycache__/x.yaml": ""}, "{{ x }}.yaml", False, id="what Python keeps"),
    ],
)
def test_a_template_could_be_a_file_that_differs(
    repository: Path, changes: dict[str, str], template: str, expected: bool
):
    write(repository, changes)

    assert could_be(repository, template) is expected


@needs_git
@pytest.mark.parametrize(("first", "second"), [("old", "new"), ("new", "old"), ("", "old")])
def test_a_file_that_only_one_state_has_differs(repository: Path, first: str, second: str):
    (repository / "conf/prod.yaml").unlink()
    commit(repository, "new")

    assert could_be(repository, "REPO/conf/p{{ x }}.yaml", first, second)
    assert not could_be(repository, "REPO/conf/d{{ x }}v.yaml", first, second)


@needs_git
def test_files_that_only_the_working_tree_has_count_if_it_is_a_state(repository: Path):
    write(repository, {".gitignore": "*.yaml", "conf/ignored.yaml": "", "conf/untracked.properties": ""})

    for name in ("ignored", "untracked"):
        assert could_be(repository, f"REPO/conf/{name}{{{{ x }}}}")
        assert not could_be(repository, f"REPO/conf/{name}{{{{ x }}}}", "old", "old")


@needs_git
def test_only_files_that_fit_are_read(repository: Path, monkeypatch: pytest.MonkeyPatch):
    read: list[str] = []
    write(repository, {"conf/prod.yaml": "a: 2", "readme.md": "new"})
    monkeypatch.setattr(ChangedFiles, "_differs", lambda self, name: bool(read.append(name)))

    could_be(repository, "REPO/conf/p{{ x }}")

    assert read == [f"{repository}/conf/prod.yaml"]


@needs_git
def test_without_templates_no_name_is_read(repository: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(os, "walk", None)

    assert ChangedFiles(None, None, ["/a"]).could_be(["/{{ x }}"])
    assert not ChangedFiles(None, None).have_code


@needs_git
def test_a_path_through_a_link_outside_of_the_repository_is_followed(repository: Path, tmp_path: Path):
    (tmp_path / "deployed").symlink_to(repository)
    write(repository, {"conf/prod.yaml": "a: 2"})

    assert could_be(repository, f"{tmp_path}/deployed/conf/{{{{ x }}}}.yaml")
    assert not could_be(repository, f"{tmp_path}/deployed/dags/{{{{ x }}}}.yaml")


@needs_git
@pytest.mark.parametrize("kind", ["relative", "absolute"])
@pytest.mark.parametrize(
    ("target", "template", "expected"),
    [
        pytest.param("releases/1", "REPO/{{ x }}/base.yaml", False, id="the same folder"),
        pytest.param("releases/2", "REPO/{{ x }}/base.yaml", True, id="another folder"),
        pytest.param("releases/2", "REPO/current/{{ x }}", True, id="below another folder"),
        pytest.param("releases/2", "REPO/conf/{{ x }}", False, id="elsewhere"),
        pytest.param("nowhere", "REPO/current/{{ x }}", True, id="to nothing"),
    ],
)
def test_a_link_to_another_folder_could_be_any_file_below_it(
    repository: Path, target: str, template: str, expected: bool, kind: str
):
    (repository / "current").unlink()
    (repository / "current").symlink_to(repository / target if kind == "absolute" else target)
    commit(repository, "new")

    assert could_be(repository, template, "old", "new") is expected
    assert could_be(repository, template, "old") is expected


@needs_git
@pytest.mark.parametrize(
    ("changed_file", "template", "expected"),
    [
        pytest.param("releases/1/base.yaml", "REPO/current/{{ x }}.yaml", True, id="below the link"),
        pytest.param("releases/1/base.yaml", "REPO/c{{ x }}/base.yaml", True, id="the link is filled in"),
        pytest.param("releases/1/base.yaml", "REPO/current/{{ x }}.txt", False, id="another end"),
        pytest.param("releases/2/base.yaml", "REPO/current/{{ x }}.yaml", False, id="beside the link"),
        pytest.param("releases/1/base.yaml", "REPO/conf/l{{ x }}.yaml", True, id="a link to a file"),
        pytest.param("releases/2/base.yaml", "REPO/conf/l{{ x }}.yaml", False, id="a link to another file"),
    ],
)
def test_a_file_differs_under_each_path_that_links_give_it(
    repository: Path, changed_file: str, template: str, expected: bool
):
    write(repository, {changed_file: "a: 3"})

    assert could_be(repository, template) is expected


@needs_git
def test_links_are_those_of_the_two_states_and_not_of_the_working_tree(repository: Path):
    write(repository, {"releases/1/base.yaml": "a: 3"})
    commit(repository, "new")
    (repository / "current").unlink()

    assert could_be(repository, "REPO/current/{{ x }}.yaml", "old", "new")
    assert not could_be(repository, "REPO/current/{{ x }}.txt", "old", "new")


@needs_git
def test_what_is_outside_of_the_repository_is_the_same_in_both_states(repository: Path, tmp_path: Path):
    write(tmp_path, {"outside/x.yaml": "a: 1"})
    (repository / "out").symlink_to(tmp_path / "outside")
    (repository / "out.yaml").symlink_to("../outside/x.yaml")
    commit(repository, "new")

    assert not could_be(repository, "REPO/out{{ x }}", "new")


@needs_git
def test_links_in_a_circle_end(repository: Path):
    (repository / "conf/up").symlink_to("..")
    (repository / "loop").symlink_to("loop")
    commit(repository, "new")
    write(repository, {"conf/prod.yaml": "a: 2"})

    assert could_be(repository, "REPO/conf/up/conf/up/conf/{{ x }}.yaml", "new")
    assert not could_be(repository, "REPO/conf/up/conf/up/conf/{{ x }}.txt", "new")


@needs_git
def test_a_pipe_is_no_file_and_does_not_block(repository: Path):
    os.mkfifo(repository / "conf/pipe.yaml")

    assert not could_be(repository, "REPO/conf/{{ x }}.yaml")


@needs_git
def test_files_of_submodules_count(repository: Path, tmp_path: Path):
    (source := tmp_path / "source").mkdir()
    git(source, "init", "--quiet", "--initial-branch=main")
    write(source, {"base.yaml": "a: 1", "other.yaml": "a: 1"})
    commit(source, "one")
    git(repository, "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", str(source), "inner")
    commit(repository, "new")
    write(repository / "inner", {"base.yaml": "a: 2"})

    assert could_be(repository, "REPO/inner/b{{ x }}.yaml", "new")
    assert not could_be(repository, "REPO/inner/o{{ x }}.yaml", "new")
    assert not could_be(repository, "REPO/inner/.{{ x }}", "new")


@pytest.mark.parametrize(
    ("replaced", "template", "expected"),
    [
        pytest.param("/conf/prod.yaml", "/conf/{{ x }}.yaml", True, id="fits"),
        pytest.param("/conf/prod.yaml", "/other/{{ x }}.yaml", False, id="another directory"),
        pytest.param("/conf/prod.yaml", "{{ x }}", True, id="anything"),
        pytest.param("conf/prod.yaml", "conf/{{ x }}.yaml", True, id="both relative"),
        pytest.param("conf/prod.yaml", "pro{{ x }}.yaml", False, id="relative, elsewhere"),
    ],
)
def test_a_replaced_file_differs(replaced: str, template: str, expected: bool):
    assert ChangedFiles(None, None, [replaced]).could_be([template]) == ({template} if expected else set())


@needs_git
@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        pytest.param({"dags/a.py": "x = 2"}, True, id="another module"),
        pytest.param({"dags/b.py": ""}, True, id="a new module"),
        pytest.param({"dags/b.zip": ""}, True, id="packed"),
        pytest.param({"dags/__pycache__/a.cpython-311.pyc": "new"}, False, id="compiled when it was imported"),
        pytest.param({"conf/prod.yaml": "a: 2"}, True, id="what code can read"),
        pytest.param({"dags/a.py": "x = 1", "conf/other.properties": "a=2", "README.md": "x"}, False, id="other files"),
    ],
)
def test_code_differs(repository: Path, changes: dict[str, str], expected: bool):
    write(repository, changes)

    with changed(repository, "old") as files:
        assert files.have_code is expected


@needs_git
def test_the_folder_of_a_plan_itself_is_no_file_that_differs(repository: Path, monkeypatch: pytest.MonkeyPatch):
    (repository / "tmp").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(repository / "tmp"))

    with changed(repository, "old") as files:
        assert (files.have_code, files.could_be(["{{ x }}"])) == (False, set())


@needs_git
def test_a_folder_that_has_only_the_name_of_such_a_folder_differs(repository: Path):
    write(repository, {"conf/config-providers-plan-new/a.py": ""})

    with changed(repository, "old") as files:
        assert files.have_code


POINTER = """version https://git-lfs.github.com/spec/v1
oid sha256:ed7002b439e9ac845f22357d822bac1444730fbdb6016d3ec9432297b9ec9f73
size 7
"""
"""What Git LFS has in place of the seven letters ``content``."""


@needs_git
@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("content", False, id="the content"),
        pytest.param("CONTENT", True, id="other content"),
        pytest.param("contents", True, id="longer content"),
        pytest.param(POINTER, False, id="the pointer"),
        pytest.param(POINTER.replace("ed70", "ed71"), True, id="another pointer"),
    ],
)
def test_a_pointer_of_git_lfs_is_the_content_that_it_leads_to(repository: Path, text: str, expected: bool):
    write(repository, {"conf/model.yaml": POINTER})
    commit(repository, "lfs")
    write(repository, {"conf/model.yaml": text})
    commit(repository, "new")

    for first, second in (("lfs", ""), ("", "lfs"), ("lfs", "new")):
        assert could_be(repository, "REPO/conf/m{{ x }}", first, second) is expected


@needs_git
def test_what_only_begins_like_a_pointer_is_no_pointer(repository: Path):
    write(repository, {"conf/model.yaml": f"{POINTER}more\n"})
    commit(repository, "lfs")
    write(repository, {"conf/model.yaml": "content"})

    assert could_be(repository, "REPO/conf/m{{ x }}", "lfs")


@needs_git
def test_what_does_not_belong_to_a_state_does_not_differ(repository: Path):
    (repository / "bin").symlink_to("conf")
    write(repository, {"own.txt": "", "other.txt": ""})
    names = {f"{repository}/{name}" for name in ("bin", "own.txt")}

    with checked_out("old", folder=str(repository)) as first:
        files = ChangedFiles(first, None, not_of_state=lambda folder, all_names: names.intersection(all_names))

        assert not files.could_be([f"{repository}/bin/{{{{ x }}}}", f"{repository}/ow{{{{ x }}}}"])
        assert files.could_be([f"{repository}/ot{{{{ x }}}}"])


NAMES = st.lists(st.sampled_from(["a", "b", "a.b"]), min_size=1, max_size=3).map("/".join)
TREES = st.dictionaries(NAMES, st.sampled_from(["1", "2"]), max_size=5)
LINKS_TO = st.dictionaries(NAMES, st.sampled_from([".", "a", "b", "a/b"]), max_size=3)
GAPS = ["{{ x }}", "${env:X}"]


@st.composite
def templates(draw: st.DrawFn) -> str:
    """Return a path in which some pieces are filled in by a run."""
    pieces = re.split(r"(?=[/.])", draw(NAMES))
    return "".join(draw(st.sampled_from([piece, *GAPS])) for piece in pieces)


@contextmanager
def two_trees(first: Mapping[str, str], second: Mapping[str, str], links: Mapping[str, str]) -> Iterator[Checkout]:
    """Yield a checkout whose files are ``first``, of a repository whose files are ``second``."""
    with TemporaryDirectory() as temporary:
        trees = [Path(temporary).resolve() / name for name in ("first", "second")]
        for tree, files in zip(trees, (first, second), strict=True):
            tree.mkdir()
            write(tree, {name: text for name, text in files.items() if not is_below(name, files)})
            for name, target in links.items():
                if not os.path.lexists(path := tree / name) and path.parent.is_dir():
                    path.symlink_to(tree / target)
        yield Checkout(trees[1], trees[0])


def is_below(name: str, others: Iterable[str]) -> bool:
    return any(name.startswith(f"{other}/") for other in others)


def differing(trees: Checkout, template: str) -> set[str]:
    """Return the paths that a run can make of ``template``, and that have other bytes in the two trees."""
    literals = re.split("|".join(map(re.escape, GAPS)), template)
    pattern = re.compile(".*".join(map(re.escape, literals)))
    names = walked(trees.folder) | walked(trees.repository)
    return {name for name in names if pattern.fullmatch(name) and differs(trees.folder / name, trees.repository / name)}


def walked(folder: Path, depth: int = 4) -> set[str]:
    """Return the paths of the files in a folder, also through links."""
    if depth == 0 or not folder.is_dir():
        return set()
    below = {path.name: walked(path, depth - 1) for path in folder.iterdir() if path.is_dir()}
    files = {path.name for path in folder.iterdir() if path.is_file()}
    return files | {f"{name}/{one}" for name, found in below.items() for one in found}


def differs(one: Path, other: Path) -> bool:
    texts = [path.read_text() if path.is_file() else None for path in (one, other)]
    return texts[0] != texts[1]


@given(TREES, TREES, templates())
def test_exactly_the_paths_that_fit_and_differ_count(first: dict[str, str], second: dict[str, str], template: str):
    with two_trees(first, second, {}) as trees:
        found = ChangedFiles(trees, None).could_be([f"{trees.repository}/{template}"])

        assert bool(found) == bool(differing(trees, template))


@given(TREES, TREES, LINKS_TO, templates())
def test_no_path_through_links_is_missed(
    first: dict[str, str], second: dict[str, str], links: dict[str, str], template: str
):
    with two_trees(first, second, links) as trees:
        assume(differing(trees, template))

        assert ChangedFiles(trees, None).could_be([f"{trees.repository}/{template}"])
