"""Airflow is imported once, and what DAG files do in one copy of its process is not seen in another."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from airflow_config_providers.exceptions import ConfigException
from airflow_config_providers.lint.dag_files import DagFile, DagImports, DagReader
from airflow_config_providers.lint.dag_process import AirflowProcess
from tests.limits import LONGEST, eventually
from tests.lint.making import is_alive

pytest.importorskip("airflow")
pytestmark = pytest.mark.integration

ONCE = """\
# a DAG file for Airflow
import json, os, random, sys
from airflow import settings
with open({seen!r}, "a") as file:
    print(os.getppid(), hasattr(json, "seen"), "SEEN" in os.environ, random.random(), settings.DAGS_FOLDER, file=file)
json.seen = True
os.environ["SEEN"] = "1"
"""
HASHES = """\
# a DAG file for Airflow
import pathlib
pathlib.Path({seen!r}).write_text(str(hash("spark")))
"""
ENDS_ITS_PARENT = """\
# a DAG file for Airflow
import os, signal
os.kill(os.getppid(), signal.SIGKILL)
"""
FORKS = """\
# a DAG file for Airflow
import os
os.fork()
"""
LEAVES_A_PROGRAM = """\
# a DAG file for Airflow
import os, subprocess
{start}
os.write(os.open({pid!r}, os.O_CREAT | os.O_WRONLY), subprocess_id.strip().encode())
{end}
"""
OWN_SESSION = "subprocess_id = str(subprocess.Popen(['sleep', '600'], start_new_session=True).pid)"
DAEMON = """subprocess_id = subprocess.run(
    ["setsid", "sh", "-c", "sh -c 'sleep 600 >&- 2>&- & echo $!'; exit"], stdout=subprocess.PIPE, text=True
).stdout"""
HARMS = {
    "a-closed-stream": "import sys\nsys.stdout = None\n",
    "another-folder": "import os\nos.chdir('/')\n",
    "a-changed-module": "import json\ndel json.loads\n",
}
HANGS = """\
# a DAG file for Airflow
import os, time
with open({started!r}, "a") as file:
    print(os.getpid(), file=file)
time.sleep(600)
"""
NEEDS = """\
# a DAG file for Airflow
import json, pathlib, sys
sys.stdout.write("")
json.loads("1")
pathlib.Path("in-the-folder").read_text()
"""


@pytest.fixture(scope="module")
def origin(tmp_path_factory: pytest.TempPathFactory) -> Iterator[AirflowProcess]:
    """
    One process for all tests that can share it: to import Airflow takes seconds, and one that ended is replaced.

    It starts in a folder with the file ``in-the-folder``, and finds no ``PYTHONHASHSEED``.
    """
    folder = tmp_path_factory.mktemp("folder")
    (folder / "in-the-folder").write_text("")
    with pytest.MonkeyPatch.context() as patch, AirflowProcess({}) as found:
        patch.chdir(folder)
        patch.delenv("PYTHONHASHSEED", raising=False)
        yield found


def read(origin: AirflowProcess, *paths: Path, dags_folder: str = "") -> list[DagFile]:
    with DagReader(DagImports([], LONGEST, dags_folder=dags_folder), origin) as reader:
        return [reader.read(str(path)) for path in paths]


@pytest.fixture
def once(tmp_path: Path) -> Path:
    (tmp_path / "once.py").write_text(ONCE.format(seen=str(tmp_path / "seen")))
    return tmp_path / "once.py"


def seen(once: Path) -> list[list[str]]:
    """Return what each import of ``ONCE`` has seen."""
    return [line.split() for line in once.with_name("seen").read_text().splitlines()]


def test_a_copy_sees_nothing_of_what_files_did_in_another(origin: AirflowProcess, once: Path) -> None:
    read(origin, once)
    read(origin, once)

    first, second = seen(once)
    assert first[0] == second[0], "they are not copies of one process"
    assert (first[1:3], second[1:3]) == (["False", "False"], ["False", "False"])
    assert first[3] != second[3]


def test_files_that_are_read_one_after_the_other_share_a_copy(origin: AirflowProcess, once: Path) -> None:
    read(origin, once, once)

    assert [one[1:3] for one in seen(once)] == [["False", "False"], ["True", "True"]]


def test_a_copy_has_the_folder_of_dags_that_it_is_given(origin: AirflowProcess, once: Path, tmp_path: Path) -> None:
    read(origin, once, dags_folder=str(tmp_path))
    read(origin, once)

    first, second = (one[4] for one in seen(once))
    assert first == str(tmp_path) != second


def test_sets_of_texts_have_the_same_order_in_each_process(origin: AirflowProcess, tmp_path: Path) -> None:
    assert hash_in(origin, tmp_path) == hash_with("0")


@pytest.mark.parametrize(("of_user", "seed"), [pytest.param("", "0", marks=pytest.mark.slow), ("7", "7")])
def test_sets_of_texts_have_the_order_that_the_user_decides_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, of_user: str, seed: str
) -> None:
    monkeypatch.setenv("PYTHONHASHSEED", of_user)

    with AirflowProcess({}) as origin:
        assert hash_in(origin, tmp_path) == hash_with(seed)


def hash_in(origin: AirflowProcess, folder: Path) -> int:
    """Return the hash of the text of ``HASHES`` in a copy."""
    (hashing := folder / "hashing.py").write_text(HASHES.format(seen=str(folder / "seen")))
    read(origin, hashing)
    return int((folder / "seen").read_text())


def hash_with(seed: str) -> int:
    """Return the hash of the text of ``HASHES`` in a process with a seed."""
    command = [sys.executable, "-c", "print(hash('spark'))"]
    return int(subprocess.check_output(command, env={"PYTHONHASHSEED": seed}))


def test_after_a_file_that_ends_the_process_itself_the_next_is_read(origin: AirflowProcess, once: Path) -> None:
    ending = once.with_name("ending.py")
    ending.write_text(ENDS_ITS_PARENT)

    read(origin, ending)
    (found,) = read(origin, once)

    assert found == DagFile()
    assert len(seen(once)) == 1


def test_if_a_file_forks_the_answer_to_the_next_is_about_the_next(origin: AirflowProcess, tmp_path: Path) -> None:
    forks, raises, plain = (tmp_path / f"{name}.py" for name in ("forks", "raises", "plain"))
    forks.write_text(FORKS)
    raises.write_text("# a DAG file for Airflow\nraise OSError\n")
    plain.write_text("# a DAG file for Airflow\n")

    found = read(origin, forks, plain, raises, plain)

    assert [bool(one.findings) for one in found] == [False, False, True, False]


def test_what_a_file_has_forked_does_not_hide_that_the_next_ends_the_process(
    origin: AirflowProcess, tmp_path: Path
) -> None:
    forks, ends = tmp_path / "forks.py", tmp_path / "ends.py"
    forks.write_text(
        "# a DAG file for Airflow\nimport os, time\nif not os.fork():\n    os.fork()\n    time.sleep(600)\n"
    )
    ends.write_text("# a DAG file for Airflow\nraise KeyboardInterrupt\n")

    with DagReader(DagImports([], seconds=20), origin) as reader:
        first, second = reader.read(str(forks)), reader.read(str(ends))

    assert first == DagFile()
    assert [one.rule.code for one in second.findings] == ["CP001"]


@pytest.mark.parametrize("harm", HARMS.values(), ids=HARMS)
def test_a_file_fails_only_for_what_it_does_itself(origin: AirflowProcess, tmp_path: Path, harm: str) -> None:
    harming, needing = tmp_path / "harming.py", tmp_path / "needing.py"
    harming.write_text(f"# a DAG file for Airflow\n{harm}")
    needing.write_text(NEEDS)

    assert read(origin, harming, needing)[1] == DagFile()


def file_that_leaves_a_program(folder: Path, start: str, end: str = "") -> tuple[Path, Path]:
    """Return a DAG file, and the file to which it writes the id of the program that it starts."""
    path, pid = folder / "leaves.py", folder / "pid"
    path.write_text(LEAVES_A_PROGRAM.format(start=start, pid=str(pid), end=end))
    return path, pid


def is_running(pid: Path) -> bool:
    return Path(f"/proc/{pid.read_text()}").exists()


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere, such programs go on")
@pytest.mark.parametrize("start", [OWN_SESSION, DAEMON], ids=["own-session", "daemon"])
@pytest.mark.parametrize("end", ["", "os._exit(0)"], ids=["imported", "ends-the-process"])
def test_a_program_in_a_session_of_its_own_ends_with_the_copy(
    origin: AirflowProcess, tmp_path: Path, start: str, end: str
) -> None:
    path, pid = file_that_leaves_a_program(tmp_path, start, end)

    read(origin, path)

    assert not is_running(pid)


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere, such programs go on")
def test_a_program_goes_on_while_its_copy_does(origin: AirflowProcess, once: Path, tmp_path: Path) -> None:
    path, pid = file_that_leaves_a_program(tmp_path, DAEMON)

    with DagReader(DagImports([], LONGEST), origin) as reader:
        reader.read(str(path))
        read(origin, once)
        is_running_beside_the_other = is_running(pid)

    assert (is_running_beside_the_other, is_running(pid)) == (True, False)


@pytest.fixture
def hanging(tmp_path: Path) -> Path:
    """Return a DAG file that writes the id of its process into the file ``started``, and never ends."""
    path = tmp_path / "hanging.py"
    path.write_text(HANGS.format(started=str(tmp_path / "started")))
    return path


def test_after_it_was_closed_airflow_is_not_started_again() -> None:
    origin = AirflowProcess({})
    origin.close()

    with pytest.raises(ConfigException, match="closed"):
        origin.copy()


def test_a_file_whose_reader_is_closed_is_not_read_again(origin: AirflowProcess, once: Path, hanging: Path) -> None:
    started = hanging.with_name("started")
    with ThreadPoolExecutor() as pool, DagReader(DagImports([], LONGEST), origin) as reader:
        reader.read(str(once))
        found = pool.submit(reader.read, str(hanging))
        assert eventually(lambda: started.exists() and started.read_text())
        reader.close()
        found.result(LONGEST)

    assert len(started.read_text().splitlines()) == 1


class EndingCopy:
    """A copy that ends while it is asked. When it is ended, another thread closes its reader at the same time."""

    def __init__(self) -> None:
        self.reader = DagReader(DagImports([], LONGEST), self)
        self.ended = 0

    def copy(self) -> EndingCopy:
        return self

    def ask(self, request: dict[str, object], seconds: float) -> dict[str, object]:
        raise EOFError

    def end(self) -> None:
        self.ended += 1
        if self.ended == 1:
            self.reader.close()


def test_a_copy_whose_reader_is_closed_while_it_ends_is_ended_once(tmp_path: Path) -> None:
    copy = EndingCopy()

    copy.reader.read(str(tmp_path / "dag.py"))

    assert copy.ended == 1


def request_for(path: Path) -> dict[str, object]:
    return {"path": str(path), "name": path.name, "roots": []}


@pytest.mark.slow
def test_a_copy_of_a_process_that_was_replaced_is_ended(origin: AirflowProcess, hanging: Path, tmp_path: Path) -> None:
    ending, started = tmp_path / "ending.py", tmp_path / "started"
    ending.write_text(ENDS_ITS_PARENT)
    copy = origin.copy()
    copy.ask(request_for(ending), LONGEST)
    origin.copy().end()
    with pytest.raises(TimeoutError):
        copy.ask(request_for(hanging), 0.01)
    assert eventually(lambda: started.exists() and started.read_text())
    copy.end()

    assert eventually(lambda: not is_alive(int(started.read_text())))


ENDS_WHO_IMPORTS_SPARK = """
import sys

class Finder:
    def find_spec(self, name, path=None, target=None):
        if name == "airflow.providers.apache.spark.operators.spark_submit":
            raise SystemExit(3)

sys.meta_path.insert(0, Finder())
"""


@pytest.mark.slow
def test_a_broken_provider_of_spark_keeps_no_other_file_from_being_read(tmp_path: Path) -> None:
    (tmp_path / "sitecustomize.py").write_text(ENDS_WHO_IMPORTS_SPARK)
    (path := tmp_path / "plain.py").write_text("# a DAG file for Airflow\n")

    with AirflowProcess({"PYTHONPATH": f"{tmp_path}:{os.environ.get('PYTHONPATH', '')}"}) as origin:
        (found,) = read(origin, path)

    assert found.findings == ()


HANGS_WHO_IMPORTS_SPARK = ENDS_WHO_IMPORTS_SPARK.replace("raise SystemExit(3)", "__import__('time').sleep(600)")


@pytest.mark.slow
def test_a_provider_of_spark_that_hangs_takes_the_time_of_the_files_that_import_it(tmp_path: Path) -> None:
    (tmp_path / "sitecustomize.py").write_text(HANGS_WHO_IMPORTS_SPARK)
    (plain := tmp_path / "plain.py").write_text("# a DAG file for Airflow\n")
    (spark := tmp_path / "spark.py").write_text(
        "# a DAG file for Airflow\nimport airflow.providers.apache.spark.operators.spark_submit\n"
    )
    environ = {"PYTHONPATH": f"{tmp_path}:{os.environ.get('PYTHONPATH', '')}"}

    with AirflowProcess(environ, ahead=1) as origin:
        (found,) = read(origin, plain)
        with DagReader(DagImports([], seconds=1), origin) as reader:
            slow = reader.read(str(spark))

    assert found.findings == ()
    assert [(one.rule.code, one.message.partition(".")[0]) for one in slow.findings] == [
        ("CP002", "Importing the DAG file took more than 1 second")
    ]
