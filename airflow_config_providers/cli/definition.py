"""
The commands of ``airflow config-providers``.

Every call of ``airflow`` loads this module, so it imports nothing else that is not loaded by then.
"""

from __future__ import annotations

from typing import Any

from airflow.cli.cli_config import ARG_OUTPUT, ActionCommand, GroupCommand, lazy_load_command

from airflow_config_providers.cli import help_texts, options


def commands() -> list[Any]:
    """Return the commands, for Airflow."""
    return [
        GroupCommand(
            name="config-providers",
            help="Configuration and secrets of Spark jobs",
            subcommands=(
                *_dynamic(),
                _bisect(),
                _references(),
                _plan(),
                _adopt(),
                _lint(),
                _doctor(),
                _schema(),
                _group("policies", "Rules for changes", _policies()),
                _group("providers", "Sources of the values of references", _providers()),
                _group("audit", "Search logs for secrets, and the history of the configuration, on Spark", *_audits()),
                _group("encoder", "Encryption of stored secrets", _encoder()),
            ),
        )
    ]


def _dynamic() -> tuple[Any, ...]:
    return (
        _command(
            "dynamic.describe",
            "Show the configuration of a task, a DAG or the deployment, and where each value comes from",
            (*options.RESOURCE, *options.SHOWN, options.WHY_NOT, *options.RUNS, *options.SERVER),
            help_texts.DESCRIBE,
        ),
        _command(
            "dynamic.alter",
            "Change dynamic configuration",
            (*options.RESOURCE, *options.CHANGES, *options.CHECKS, *options.SERVER),
            help_texts.ALTER + help_texts.UNCHANGED,
        ),
        _command(
            "dynamic.history",
            "List the changes of a task, a DAG or the deployment",
            (*options.RESOURCE, *options.SERVER),
            help_texts.HISTORY,
        ),
        _command(
            "dynamic.rollback",
            "Restore the configuration of an earlier version",
            (*options.RESOURCE, options.VERSION, options.VALIDATE_ONLY, *options.SERVER),
            help_texts.ROLLBACK + help_texts.UNCHANGED,
        ),
        _command(
            "dynamic.refresh",
            "Have processes that follow a task, a DAG or the deployment read the values of its references again",
            (*options.RESOURCE, *options.SERVER),
            help_texts.REFRESH + help_texts.UNCHANGED,
        ),
    )


def _bisect() -> Any:
    _, *of_task = options.RESOURCE
    return _command(
        "bisect.bisect",
        "Show what changed between the last run of a task that succeeded and the first that failed",
        (*of_task, options.MAP_INDEX),
        help_texts.BISECT,
    )


def _references() -> Any:
    return _command(
        "dynamic.references",
        "List the tasks that use a reference, and those whose last job had an older value of it",
        (options.PATTERN, *options.SERVER),
        help_texts.REFERENCES,
    )


def _policies() -> Any:
    return _command(
        "policies.test",
        "Open the policies, and test a change against each",
        (*options.RESOURCE, *options.CHANGES, options.MOMENT, options.POLICIES_FILE),
        help_texts.POLICIES,
    )


def _providers() -> Any:
    return _command(
        "providers.list_",
        "List the providers that a connection defines",
        options.CONNECTION,
        help_texts.PROVIDERS,
        name="list",
    )


def _encoder() -> Any:
    return _command(
        "encoder.rotate",
        "Re-encrypt the stored secrets with the new secret",
        (options.VALIDATE_ONLY,),
        help_texts.ENCODER,
    )


def _audits() -> tuple[Any, ...]:
    of_past = (*options.PAST, *options.WRITTEN_FINDINGS, *options.SPARK_JOB)
    return (
        _leaks(),
        _command(
            "audit_records.history",
            "Show what differs between runs, DAGs and environments, what has no effect, and what failures share",
            (*options.COMPARED, *of_past),
            help_texts.AUDIT_HISTORY,
        ),
        _action(
            "audit_records.policies",
            "Show which past runs the policies in a file would have stopped",
            (options.FILE_OF_POLICIES, *of_past, ARG_OUTPUT),
            help_texts.AUDIT_POLICIES,
        ),
        _command(
            "audit_records.references",
            "Show who used which reference in all runs, and how many values each had",
            (options.PATTERN, options.KNOWN_REFERENCES, *of_past),
            help_texts.AUDIT_REFERENCES,
        ),
    )


def _leaks() -> Any:
    return _action(
        "audit_leaks.leaks",
        "Find the values of references in logs and other files",
        (*options.SEARCHED, options.CONNECTION_ID, *options.SPARK_JOB, ARG_OUTPUT),
        help_texts.LEAKS,
    )


def _plan() -> Any:
    return _command(
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
    )


def _adopt() -> Any:
    return _action(
        "adopt.adopt",
        "Propose references and layer files for DAGs that use stock operators",
        (*options.ADOPTED, options.TIMEOUT, options.WRITTEN),
        help_texts.ADOPT,
    )


def _lint() -> Any:
    return _action(
        "lint.lint",
        "Find mistakes in DAG files, layer files and policies, without a database or a secret store",
        (*options.LINTED, *options.RULES, options.REPORT),
        help_texts.LINT,
    )


def _doctor() -> Any:
    return _action(
        "doctor.doctor",
        "Check the deployment from this machine, and say how to mend what is wrong",
        (*options.EXAMINED, ARG_OUTPUT),
        help_texts.DOCTOR,
    )


def _schema() -> Any:
    return _action(
        "schema.schema",
        "Print a JSON schema, with which editors check and complete YAML files",
        options.SCHEMA,
        help_texts.SCHEMA,
    )


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
