"""The options and arguments of the commands. Every call of ``airflow`` loads this module; see ``definition``."""

from __future__ import annotations

from argparse import ArgumentParser
from collections.abc import Callable
from typing import Any, Final

from airflow.cli.cli_config import Arg, lazy_load_command


def _arg(*flags: str, **kwargs: Any) -> Any:
    return Arg(flags, **kwargs)  # type: ignore[no-untyped-call]  # Airflow has no types here


def _completed(names: str, *flags: str, **kwargs: Any) -> Any:
    """Return an option whose values a shell can complete with a function of ``completion``."""
    return CompletedArg(flags, lazy_load_command(f"airflow_config_providers.cli.completion.{names}"), **kwargs)


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


PATTERN: Final = _arg(
    "pattern",
    help="References to list, with * for anything; by default all",
    nargs="?",
    default="*",
    metavar="PATTERN",
)

PAST: Final = (
    _arg(
        "--records",
        help="Folder of records, in any place that Spark can read; by default the records_path of the deployment "
        "or, without one, Airflow's database",
        metavar="PATH",
    ),
    _arg(
        "--parquet",
        help="Folder that keeps what was read, so that the next audit reads only what is new",
        metavar="FOLDER",
    ),
    _arg("--since", help="First day, such as 2026-11-01; by default all", metavar="DAY"),
    _completed("dags", "--dag", help="Only the DAG with this id", metavar="DAG_ID"),
    _arg(
        "--no-database",
        help="Do not read Airflow's database, because the records are of another deployment",
        action="store_true",
    ),
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
    _arg("--against", help="Folder of the records of another environment, to compare with", metavar="PATH"),
    _arg("--kind", help="Only findings of this kind; repeatable", action="append", choices=_KINDS),
)

KNOWN_REFERENCES: Final = _arg(
    "--known", help="File with references: those that no record has are listed, too", metavar="FILE"
)

REFERENCE_RUNS: Final = _arg(
    "--runs",
    help="List each try that used a reference, and when, in place of a row for each reference",
    action="store_true",
)

WRITTEN_FINDINGS: Final = (
    _arg("--report", help="HTML file to write, with the findings and plots of them", metavar="FILE"),
    _arg("--output-parquet", help="Parquet file to write, with the findings", metavar="FILE"),
)

SEARCHED: Final = (
    _arg(
        "paths",
        help="Files and folders to search, also in object storage, such as s3://CONN_ID@BUCKET/PATH",
        nargs="*",
        metavar="PATH",
    ),
    _arg("--database", help="Also search the text in Airflow's own database", action="store_true"),
    _arg("--references", help="File with references to search for; repeatable", action="append", metavar="FILE"),
    _arg("--no-records", help="Do not search for the references of the records", action="store_true"),
    _arg(
        "--except",
        help="Leave out references that are no secrets, such as '${vault:apps/db:user}'; * is any text; repeatable",
        action="append",
        dest="excepted",
        metavar="PATTERN",
    ),
    _arg("--fingerprints", help="File with fingerprints of values; repeatable", action="append", metavar="FILE"),
    _arg("--write-fingerprints", help="File to write, with the fingerprints of the values", metavar="FILE"),
    _arg("--no-values", help="Ask no provider for values: search for fingerprints or tokens", action="store_true"),
    _arg("--tokens", help="Find tokens of well-known formats, too", action="store_true"),
    _arg("--baseline", help="File with accepted leaks: their ids, or the JSON of an audit", metavar="FILE"),
    _arg(
        "--state",
        help="Folder that keeps what was searched, so that the next audit reads only what is new",
        metavar="FOLDER",
    ),
    _arg(
        "--reversed-copy",
        help="Folder to write copies to, with references in place of the values",
        metavar="FOLDER",
    ),
    *WRITTEN_FINDINGS,
)

SPARK_JOB: Final = (
    _arg("--master", help="Spark's master; by default that of spark-defaults.conf, or local[*]", metavar="URL"),
    _arg("--conf", help="Configuration of the Spark job: key=value; repeatable", action="append", metavar="K=V"),
)

RESOURCE: Final = (
    _arg("--default", help="The deployment: the configuration that every job starts from", action="store_true"),
    _completed("dags", "--dag", help="The DAG with this id", metavar="DAG_ID"),
    _completed("tasks", "--task", help="The task with this id, in the DAG", metavar="TASK_ID"),
)

SHOWN: Final = (
    _arg("--all", help="Also show keys that have only Spark's default", action="store_true"),
    _completed("keys", "--key", help="Show only this key; repeatable", action="append", metavar="KEY"),
    _arg("--synonyms", help="Show a row for each value of a key, in order of precedence", action="store_true"),
)

WHY_NOT: Final = _arg(
    "--why-not",
    help="Say why a setting does not apply, or that it does: KEY=VALUE, a key, a path of a file, or a layer as "
    "describe shows it",
    metavar="KEY=VALUE|LAYER",
)

MAP_INDEX: Final = _arg("--map-index", help="Map index of an instance of a mapped task", type=int, metavar="I")

RUNS: Final = (
    _completed("runs", "--run", help="Show what the task had in the run with this id", metavar="RUN_ID"),
    _arg("--try", help="Number of the try; by default the last one", type=int, dest="try_number", metavar="N"),
    MAP_INDEX,
    _completed(
        "sides",
        "--diff",
        help="Show what differs between two of: now, RUN_ID, RUN_ID#TRY, the address of another deployment or, "
        "with --run, the number of a try",
        nargs=2,
        metavar=("A", "B"),
    ),
)

_PAIRS: Final = "KEY=VALUE"
CHANGES: Final = (
    _arg(
        "--add-config",
        help="Set keys: k=v, or k1=v1,k2=\\[a,b] as in kafka-configs.sh; repeatable",  # \\[ for rich
        action="append",
        metavar=_PAIRS,
    ),
    _arg(
        "--add-config-file",
        help="Set the keys of a properties or YAML file; - for properties on standard input",
        metavar="FILE",
    ),
    _arg("--delete-config", help="Delete keys: k1,k2; repeatable", action="append", metavar="KEY"),
    _arg("--append", help="Add elements to a list: k=a,b; repeatable", action="append", metavar=_PAIRS),
    _arg("--subtract", help="Remove elements from a list: k=a,b; repeatable", action="append", metavar=_PAIRS),
)

VALIDATE_ONLY: Final = _arg("--validate-only", help="Check everything, but change nothing", action="store_true")

CHECKS: Final = (
    _arg(
        "--if-version",
        help="Change only if the resource is still at this version, the last that history shows",
        type=int,
        metavar="VERSION",
    ),
    VALIDATE_ONLY,
)

VERSION: Final = _arg(
    "--to-version",
    help="Version to restore, where 0 is before the first change; by default the one before the last change",
    type=int,
    metavar="VERSION",
)

LEAVE_OUT: Final = _arg(
    "--leave-out", help="Leave these keys as they are: k1,k2; repeatable", action="append", metavar="KEY"
)

MOMENT: Final = _arg(
    "--at",
    help="Test only the change (alter), or only the run of the task (render); by default both",
    choices=("alter", "render"),
)

POLICIES_FILE: Final = _arg(
    "--policies-file",
    help="Policies file to test; by default the policies_file of the deployment",
    metavar="FILE",
)

STATES: Final = (
    _arg(
        "--replace-file",
        help="Read FILE in place of the layer file at PATH; repeatable",
        action="append",
        metavar="PATH=FILE",
    ),
    _arg(
        "--environment",
        help="File with lines NAME=VALUE: the environment variables of the jobs, in place of those of this process",
        metavar="FILE",
    ),
    _arg(
        "--from",
        help="Git revision of the DAGs folder to begin with; by default the DAGs that Airflow has stored",
        dest="from_",
        metavar="REV",
    ),
    _arg(
        "--to",
        help="Git revision of the DAGs folder to end with; by default the DAGs that Airflow has stored or, with "
        "--from, the files in the DAGs folder",
        metavar="REV",
    ),
)

TIMEOUT: Final = _arg(
    "--timeout", help="Seconds to import one DAG file; default 60", type=float, default=60, metavar="SECONDS"
)

DETAILED: Final = _arg(
    "--detailed-exit-code",
    help="Exit with 0 if nothing changes and nothing is undecided, 2 if something changes or only a run knows, and 1 "
    "for an error or a denial",
    action="store_true",
)

DETAILED_VERDICTS: Final = _arg(
    "--detailed-exit-code",
    help="Exit with 2 if only a run knows whether a policy allows it, and none denies",
    action="store_true",
)

CONNECTION_ID: Final = _arg(
    "--conn-id",
    help="Connection that defines the providers; by default the config_conn_id of the deployment",
    metavar="CONN_ID",
)

CONNECTION: Final = (
    CONNECTION_ID,
    _arg("--check", help="Ask each provider whether it can answer; reads no secret", action="store_true"),
)

EXAMINED: Final = (
    _arg(
        "--only",
        help="Make only these checks, such as providers,files; repeatable",
        action="append",
        metavar="NAME",
    ),
    CONNECTION_ID,
    _arg(
        "--timeout",
        help="Seconds for each check and each provider; default 30",
        type=float,
        default=30,
        metavar="SECONDS",
    ),
)

LINTED: Final = (
    _arg(
        "paths",
        help="DAG files, layer files (.properties, .conf, .yaml), policies (.yaml) or folders; by default those of "
        "the deployment",
        nargs="*",
        metavar="PATH",
    ),
    _arg(
        "--skip-other-yaml",
        help="Leave out YAML files that are neither layer files nor policies, as a hook that gets all files needs",
        action="store_true",
    ),
    _arg("--providers", help="Properties file that defines the providers of all jobs", metavar="FILE"),
    _arg(
        "--conn-extra",
        help="Extra of the connection that defines the providers of all jobs; - for standard input; by default, "
        "connections are read from AIRFLOW_CONN_...",
        metavar="JSON",
    ),
    TIMEOUT,
)

ADOPTED: Final = (
    _arg("paths", help="DAG files or folders; by default the DAGs of the deployment", nargs="*", metavar="PATH"),
    _arg(
        "--operators",
        help="Keep the stock operators, which the setting apply_to configures, or use the classes of this package",
        choices=("apply_to", "classes"),
        default="apply_to",
    ),
    _arg(
        "--shared-by",
        help="Number of jobs that must share a value before it moves to a layer file; default 3",
        type=int,
        default=3,
        metavar="N",
    ),
    _arg(
        "--layers-folder",
        help="Folder of the layer files, as jobs see it; by default layers/ in the folder of the DAG files",
        metavar="PATH",
    ),
    _arg(
        "--connection-provider",
        help="Name of the provider for Airflow connections; default connection",
        default="connection",
        metavar="NAME",
    ),
    _arg(
        "--variable-provider",
        help="Name of the provider for Airflow variables; default variable",
        default="variable",
        metavar="NAME",
    ),
    _arg("--write", help="Write the patch, the report and the layer files into this new folder", metavar="FOLDER"),
)

WRITTEN: Final = _arg("--output", "-o", help="Format; default plain", choices=("plain", "json"), default="plain")

_OF_CODES: Final = {"action": "append", "metavar": "CODES"}

RULES: Final = (
    _arg("--select", help="Apply only the rules with these codes, such as CP2,CP301", **_OF_CODES),
    _arg("--ignore", help="Do not apply the rules with these codes", **_OF_CODES),
)

_FORMATS: Final = ("plain", "json", "sarif", "junit")
REPORT: Final = _arg("--output", "-o", help="Format of the report; default plain", choices=_FORMATS, default="plain")

SERVER: Final = (
    _arg(
        "--server",
        help="Airflow's address, to use its REST interface; by default AIRFLOW_CONFIG_PROVIDERS_SERVER",
        metavar="URL",
    ),
    _arg(
        "--token-file",
        help="File with your token for the server; - for standard input; by default AIRFLOW_CLI_TOKEN",
        metavar="FILE",
    ),
    _arg("--username", help="Your user name on the server; gets a token with your password", metavar="NAME"),
    _arg(
        "--password-file",
        help="File with your password, - for standard input; otherwise you are prompted",
        metavar="FILE",
    ),
    _arg("--allow-plain-http", help="Send the token unencrypted to another machine", action="store_true"),
)

FILE_OF_POLICIES: Final = _arg("file", help="File of policies", metavar="FILE")

SCHEMA: Final = (
    _arg("kind", help="Layer files, or files of policies", choices=("layer", "policies")),
    _arg("--spark-version", help="Version of Spark; by default the newest one", metavar="VERSION"),
)
