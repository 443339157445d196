"""The options and arguments of the commands. Every call of ``airflow`` loads this module; see ``definition``."""

from __future__ import annotations

from argparse import ArgumentParser
from collections.abc import Callable
from typing import Any, Final

from airflow.cli.cli_config import Arg, lazy_load_command


def _arg(flags: str, help_: str, **kwargs: Any) -> Any:
    return Arg(tuple(flags.split()), help=help_, **kwargs)  # type: ignore[no-untyped-call]  # Airflow has no types here


def _value(flag: str, metavar: str, help_: str, **kwargs: Any) -> Any:
    return _arg(flag, help_, metavar=metavar, **kwargs)


def _each(flag: str, metavar: str, help_: str, **kwargs: Any) -> Any:
    """Return an option that can be repeated."""
    return _value(flag, metavar, help_, action="append", **kwargs)


def _flag(flag: str, help_: str) -> Any:
    return _arg(flag, help_, action="store_true")


def _completed(names: str, flag: str, metavar: str | tuple[str, str], help_: str, **kwargs: Any) -> Any:
    """Return an option whose values a shell can complete with a function of ``completion``."""
    completer = lazy_load_command(f"airflow_config_providers.cli.completion.{names}")
    return CompletedArg((flag,), completer, metavar=metavar, help=help_, **kwargs)


class CompletedArg(Arg):
    """
    An option whose values a shell can complete.

    :param completer: returns the values, as argcomplete calls it
    """

    def __init__(self, flags: tuple[str, ...], completer: Callable[..., Any], **kwargs: Any) -> None:
        super().__init__(flags, **kwargs)  # type: ignore[no-untyped-call]  # Airflow has no types here
        self._completer = completer

    def add_to_parser(self, parser: ArgumentParser) -> None:
        """Add the option to ``parser``."""
        action: Any = parser.add_argument(*self.flags, **self.kwargs)
        action.completer = self._completer


PATTERN: Final = _value(
    "pattern", "PATTERN", "References to list, with * for anything; by default all", nargs="?", default="*"
)

PAST: Final = (
    _value(
        "--records",
        "PATH",
        "Folder of records, in any place that Spark can read; by default the records_path of the deployment "
        "or, without one, Airflow's database",
    ),
    _value("--parquet", "FOLDER", "Folder that keeps what was read, so that the next audit reads only what is new"),
    _value("--since", "DAY", "First day, such as 2026-11-01; by default all"),
    _completed("dags", "--dag", "DAG_ID", "Only the DAG with this id"),
    _flag("--no-database", "Do not read Airflow's database, because the records are of another deployment"),
)

_KINDS: Final = (
    "always-loses",
    "before-failure",
    "between-dags",
    "between-environments",
    "between-runs",
    "default-not-taken",
    "only-in-failed",
    "overrides-default",
    "unused",
)
COMPARED: Final = (
    _value("--against", "PATH", "Folder of the records of another environment, to compare with"),
    _arg("--kind", "Only findings of this kind; repeatable", action="append", choices=_KINDS),
)

KNOWN_REFERENCES: Final = _value("--known", "FILE", "File with references: those that no record has are listed, too")

REFERENCE_RUNS: Final = _flag(
    "--runs", "List each try that used a reference, and when, in place of a row for each reference"
)

WRITTEN_FINDINGS: Final = (
    _value("--report", "FILE", "HTML file to write, with the findings and plots of them"),
    _value("--output-parquet", "FILE", "Parquet file to write, with the findings"),
)

SEARCHED: Final = (
    _value(
        "paths",
        "PATH",
        "Files and folders to search, also in object storage, such as s3://CONN_ID@BUCKET/PATH",
        nargs="*",
    ),
    _flag("--database", "Also search the text in Airflow's own database"),
    _each("--references", "FILE", "File with references to search for; repeatable"),
    _flag("--no-records", "Do not search for the references of the records"),
    _each(
        "--except",
        "PATTERN",
        "Leave out references that are no secrets, such as '${vault:apps/db:user}'; * is any text; repeatable",
        dest="excepted",
    ),
    _each("--fingerprints", "FILE", "File with fingerprints of values; repeatable"),
    _value("--write-fingerprints", "FILE", "File to write, with the fingerprints of the values"),
    _flag("--no-values", "Ask no provider for values: search for fingerprints or tokens"),
    _flag("--tokens", "Find tokens of well-known formats, too"),
    _value("--baseline", "FILE", "File with accepted leaks: their ids, or the JSON of an audit"),
    _value("--state", "FOLDER", "Folder that keeps what was searched, so that the next audit reads only what is new"),
    _value("--reversed-copy", "FOLDER", "Folder to write copies to, with references in place of the values"),
    *WRITTEN_FINDINGS,
)

SPARK_JOB: Final = (
    _value("--master", "URL", "Spark's master; by default that of spark-defaults.conf, or local[*]"),
    _each("--conf", "K=V", "Configuration of the Spark job: key=value; repeatable"),
)

RESOURCE: Final = (
    _flag("--default", "The deployment: the configuration that every job starts from"),
    _completed("dags", "--dag", "DAG_ID", "The DAG with this id"),
    _completed("tasks", "--task", "TASK_ID", "The task with this id, in the DAG"),
)

SHOWN: Final = (
    _flag("--all", "Also show keys that have only Spark's default"),
    _completed("keys", "--key", "KEY", "Show only this key; repeatable", action="append"),
    _flag("--synonyms", "Show a row for each value of a key, in order of precedence"),
)

WHY_NOT: Final = _value(
    "--why-not",
    "KEY=VALUE|LAYER",
    "Say why a setting does not apply, or that it does: KEY=VALUE, a key, a path of a file, or a layer as "
    "describe shows it",
)

MAP_INDEX: Final = _value("--map-index", "I", "Map index of an instance of a mapped task", type=int)

RUNS: Final = (
    _completed("runs", "--run", "RUN_ID", "Show what the task had in the run with this id"),
    _value("--try", "N", "Number of the try; by default the last one", type=int, dest="try_number"),
    MAP_INDEX,
    _completed(
        "sides",
        "--diff",
        ("A", "B"),
        "Show what differs between two of: now, RUN_ID, RUN_ID#TRY, the address of another deployment or, "
        "with --run, the number of a try",
        nargs=2,
    ),
)

_PAIRS: Final = "KEY=VALUE"
CHANGES: Final = (
    # In \\[, the backslash is for rich, which prints the help.
    _each("--add-config", _PAIRS, "Set keys: k=v, or k1=v1,k2=\\[a,b] as in kafka-configs.sh; repeatable"),
    _value(
        "--add-config-file", "FILE", "Set the keys of a properties or YAML file; - for properties on standard input"
    ),
    _each("--delete-config", "KEY", "Delete keys: k1,k2; repeatable"),
    _each("--append", _PAIRS, "Add elements to a list: k=a,b; repeatable"),
    _each("--subtract", _PAIRS, "Remove elements from a list: k=a,b; repeatable"),
)

VALIDATE_ONLY: Final = _flag("--validate-only", "Check everything, but change nothing")

CHECKS: Final = (
    _value(
        "--if-version",
        "VERSION",
        "Change only if the resource is still at this version, the last that history shows",
        type=int,
    ),
    VALIDATE_ONLY,
)

VERSION: Final = _value(
    "--to-version",
    "VERSION",
    "Version to restore, where 0 is before the first change; by default the one before the last change",
    type=int,
)

LEAVE_OUT: Final = _each("--leave-out", "KEY", "Leave these keys as they are: k1,k2; repeatable")

MOMENT: Final = _arg(
    "--at",
    "Test only the change (alter), or only the run of the task (render); by default both",
    choices=("alter", "render"),
)

POLICIES_FILE: Final = _value(
    "--policies-file", "FILE", "Policies file to test; by default the policies_file of the deployment"
)

STATES: Final = (
    _each("--replace-file", "PATH=FILE", "Read FILE in place of the layer file at PATH; repeatable"),
    _value(
        "--environment",
        "FILE",
        "File with lines NAME=VALUE: the environment variables of the jobs, in place of those of this process",
    ),
    _value(
        "--from",
        "REV",
        "Git revision of the DAGs folder to begin with; by default the DAGs that Airflow has stored",
        dest="from_",
    ),
    _value(
        "--to",
        "REV",
        "Git revision of the DAGs folder to end with; by default the DAGs that Airflow has stored or, with "
        "--from, the files in the DAGs folder",
    ),
)

TIMEOUT: Final = _value("--timeout", "SECONDS", "Seconds to import one DAG file; default 60", type=float, default=60)

DETAILED: Final = _flag(
    "--detailed-exit-code",
    "Exit with 0 if nothing changes and nothing is undecided, 2 if something changes or only a run knows, and 1 "
    "for an error or a denial",
)

DETAILED_VERDICTS: Final = _flag(
    "--detailed-exit-code", "Exit with 2 if only a run knows whether a policy allows it, and none denies"
)

CONNECTION_ID: Final = _value(
    "--conn-id", "CONN_ID", "Connection that defines the providers; by default the config_conn_id of the deployment"
)

CONNECTION: Final = (
    CONNECTION_ID,
    _flag("--check", "Ask each provider whether it can answer; reads no secret"),
)

EXAMINED: Final = (
    _each("--only", "NAME", "Make only these checks, such as providers,files; repeatable"),
    CONNECTION_ID,
    _value("--timeout", "SECONDS", "Seconds for each check and each provider; default 30", type=float, default=30),
)

LINTED: Final = (
    _value(
        "paths",
        "PATH",
        "DAG files, layer files (.properties, .conf, .yaml), policies (.yaml) or folders; by default those of "
        "the deployment",
        nargs="*",
    ),
    _flag(
        "--skip-other-yaml",
        "Leave out YAML files that are neither layer files nor policies, as a hook that gets all files needs",
    ),
    _value("--providers", "FILE", "Properties file that defines the providers of all jobs"),
    _value(
        "--conn-extra",
        "JSON",
        "Extra of the connection that defines the providers of all jobs; - for standard input; by default, "
        "connections are read from AIRFLOW_CONN_...",
    ),
    TIMEOUT,
)

ADOPTED: Final = (
    _value("paths", "PATH", "DAG files or folders; by default the DAGs of the deployment", nargs="*"),
    _arg(
        "--operators",
        "Keep the stock operators, which the setting apply_to configures, or use the classes of this package",
        choices=("apply_to", "classes"),
        default="apply_to",
    ),
    _value(
        "--shared-by",
        "N",
        "Number of jobs that must share a value before it moves to a layer file; default 3",
        type=int,
        default=3,
    ),
    _value(
        "--layers-folder",
        "PATH",
        "Folder of the layer files, as jobs see it; by default layers/ in the folder of the DAG files",
    ),
    _value(
        "--connection-provider",
        "NAME",
        "Name of the provider for Airflow connections; default connection",
        default="connection",
    ),
    _value(
        "--variable-provider",
        "NAME",
        "Name of the provider for Airflow variables; default variable",
        default="variable",
    ),
    _value("--write", "FOLDER", "Write the patch, the report and the layer files into this new folder"),
)

WRITTEN: Final = _arg("--output -o", "Format; default plain", choices=("plain", "json"), default="plain")

RULES: Final = (
    _each("--select", "CODES", "Apply only the rules with these codes, such as CP2,CP301"),
    _each("--ignore", "CODES", "Do not apply the rules with these codes"),
)

_FORMATS: Final = ("plain", "json", "sarif", "junit")
REPORT: Final = _arg("--output -o", "Format of the report; default plain", choices=_FORMATS, default="plain")

SERVER: Final = (
    _value(
        "--server", "URL", "Airflow's address, to use its REST interface; by default AIRFLOW_CONFIG_PROVIDERS_SERVER"
    ),
    _value(
        "--token-file",
        "FILE",
        "File with your token for the server; - for standard input; by default AIRFLOW_CLI_TOKEN",
    ),
    _value("--username", "NAME", "Your user name on the server; gets a token with your password"),
    _value("--password-file", "FILE", "File with your password, - for standard input; otherwise you are prompted"),
    _flag("--allow-plain-http", "Send the token unencrypted to another machine"),
)

FILE_OF_POLICIES: Final = _value("file", "FILE", "File of policies")

SCHEMA: Final = (
    _arg("kind", "Layer files, or files of policies", choices=("layer", "policies")),
    _value("--spark-version", "VERSION", "Version of Spark; by default the newest one"),
)
