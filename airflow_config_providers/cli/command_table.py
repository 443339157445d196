"""
The commands of ``airflow config-providers``.

Every call of ``airflow`` loads this module, so it imports nothing else that is not loaded by then.
"""

from __future__ import annotations

from typing import Any, Final

from airflow.cli.cli_config import ARG_OUTPUT, ActionCommand, GroupCommand, lazy_load_command

from airflow_config_providers.cli import help_texts, options


def commands() -> list[Any]:
    """Return the commands, for Airflow."""
    help_ = "Configuration and secrets of Spark jobs"
    return [GroupCommand(name="config-providers", help=help_, subcommands=_SUBCOMMANDS)]


def _group(name: str, help_: str, *commands: Any) -> Any:
    return GroupCommand(name=name, help=help_, subcommands=commands)


def _command(path: str, help_: str, args: tuple[Any, ...], examples: str, *, name: str = "") -> Any:
    """Return a command with the usual formats of output and exit codes; see ``_action``."""
    return _action(path, help_, (*args, ARG_OUTPUT), examples + help_texts.CODES, name=name)


def _action(path: str, help_: str, args: tuple[Any, ...], epilog: str, *, name: str = "") -> Any:
    """Return a command that runs the function at ``path``, which is imported when it is called."""
    return ActionCommand(
        name=name or path.partition(".")[2],
        help=help_,
        func=lazy_load_command(f"airflow_config_providers.cli.{path}"),
        args=args,
        epilog=epilog,
    )


_OF_PAST: Final = (*options.PAST, *options.WRITTEN_FINDINGS, *options.SPARK_JOB)

_SUBCOMMANDS: Final = (
    _command(
        "describe.describe",
        "Show the configuration of a task, a DAG or the deployment, and where each value comes from",
        (*options.RESOURCE, *options.SHOWN, options.WHY_NOT, *options.RUNS, *options.SERVER),
        help_texts.DESCRIBE,
    ),
    _command(
        "changes.alter",
        "Change dynamic configuration",
        (*options.RESOURCE, *options.CHANGES, *options.CHECKS, *options.SERVER),
        help_texts.ALTER + help_texts.UNCHANGED,
    ),
    _command(
        "changes.history",
        "List the changes of a task, a DAG or the deployment",
        (*options.RESOURCE, *options.SERVER),
        help_texts.HISTORY,
    ),
    _command(
        "changes.rollback",
        "Restore the configuration of an earlier version",
        (*options.RESOURCE, options.VERSION, options.VALIDATE_ONLY, *options.SERVER),
        help_texts.ROLLBACK + help_texts.UNCHANGED,
    ),
    _command(
        "changes.refresh",
        "Have processes that follow a task, a DAG or the deployment read the values of its references again",
        (*options.RESOURCE, *options.SERVER),
        help_texts.REFRESH + help_texts.UNCHANGED,
    ),
    _command(
        "bisect.bisect",
        "Show what changed between the last run of a task that succeeded and the first that failed",
        (*options.RESOURCE[1:], options.MAP_INDEX),  # without --default
        help_texts.BISECT,
    ),
    _command(
        "describe.references",
        "List the tasks that use a reference, and those whose last job had an older value of it",
        (options.PATTERN, *options.SERVER),
        help_texts.REFERENCES,
    ),
    _command(
        "plan.plan",
        "Show which tasks a change concerns and how, and what policies say of it, before it is made",
        (
            *options.RESOURCE,
            *options.CHANGES,
            *options.STATES,
            options.POLICIES_FILE,
            options.TIMEOUT,
            options.DETAILED,
        ),
        help_texts.PLAN,
    ),
    _action(
        "adopt.adopt",
        "Propose references and layer files for DAGs that use stock operators",
        (*options.ADOPTED, options.TIMEOUT, options.WRITTEN),
        help_texts.ADOPT,
    ),
    _action(
        "lint.lint",
        "Find mistakes in DAG files, layer files, policies and providers, without a database or a secret store",
        (*options.LINTED, *options.RULES, options.REPORT),
        help_texts.LINT,
    ),
    _action(
        "doctor.doctor",
        "Check the deployment from this machine, and say how to mend what is wrong",
        (*options.EXAMINED, ARG_OUTPUT),
        help_texts.DOCTOR,
    ),
    _action(
        "schema.schema",
        "Print a JSON schema, with which editors check and complete YAML files",
        options.SCHEMA,
        help_texts.SCHEMA,
    ),
    _group(
        "policies",
        "Rules for changes",
        _command(
            "policies.test",
            "Open the policies, and test a change against each",
            (
                *options.RESOURCE,
                *options.CHANGES,
                options.MOMENT,
                options.POLICIES_FILE,
                options.DETAILED_VERDICTS,
            ),
            help_texts.POLICIES,
        ),
    ),
    _group(
        "providers",
        "Sources of the values of references",
        _command(
            "providers.list_",
            "List the providers that a connection defines",
            options.CONNECTION,
            help_texts.PROVIDERS,
            name="list",
        ),
    ),
    _group(
        "audit",
        "Search logs for secrets, and the history of the configuration, on Spark",
        _action(
            "audit_leaks.leaks",
            "Find the values of references in logs and other files",
            (*options.SEARCHED, options.CONNECTION_ID, *options.SPARK_JOB, ARG_OUTPUT),
            help_texts.LEAKS,
        ),
        _command(
            "audit_records.history",
            "Show what differs between runs, DAGs and environments, what has no effect, and what failures share",
            (*options.COMPARED, *_OF_PAST),
            help_texts.AUDIT_HISTORY,
        ),
        _action(
            "audit_records.policies",
            "Show which past runs the policies in a file would have stopped",
            (options.FILE_OF_POLICIES, *_OF_PAST, ARG_OUTPUT),
            help_texts.AUDIT_POLICIES,
        ),
        _command(
            "audit_records.references",
            "Show who used which reference in all runs, and how many values each had",
            (options.PATTERN, options.KNOWN_REFERENCES, options.REFERENCE_RUNS, *_OF_PAST),
            help_texts.AUDIT_REFERENCES,
        ),
    ),
    _group(
        "encoder",
        "Encryption of stored secrets",
        _command(
            "encoder.rotate",
            "Re-encrypt the stored secrets with the new secret",
            (options.VALIDATE_ONLY,),
            help_texts.ENCODER,
        ),
    ),
)
