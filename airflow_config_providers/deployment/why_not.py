"""
Why a setting that someone wrote does not apply.

That is decided by the rows of a description, and by what a deployment reads: which layers and keys reach a job.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from pathlib import PurePath
from typing import Any, Final

from airflow_config_providers import settings
from airflow_config_providers.core.alter import AlterConfigOp
from airflow_config_providers.core.environment import EnvironmentOverrides
from airflow_config_providers.core.keys import key_problem
from airflow_config_providers.core.layers import ConfigSource
from airflow_config_providers.core.reload import RELOAD_ACTION_KEYS
from airflow_config_providers.core.resource import ConfigResource
from airflow_config_providers.core.templates import is_known_only_in_run
from airflow_config_providers.core.text import first_of, nearest, one_line, printable
from airflow_config_providers.deployment.rows import (
    BELOW_FILES,
    SECRET,
    Hidden,
    Row,
    file_of,
    files_that_beat,
    is_secret,
    misfit_reasons,
)
from airflow_config_providers.dynamic.inheritance import SOURCES
from airflow_config_providers.exceptions import ConfigProvidersError, ForbiddenError, ProviderUnavailableError
from airflow_config_providers.spark.catalogue import OF_AUTHOR, READ_ONLY, spark_definition
from airflow_config_providers.spark.known_keys import SPARK, UnknownKeys, find_in, meant

DYNAMIC: Final = tuple(source.name for source in SOURCES.values())
"""The sources of dynamic configuration."""


def nothing_refused(key: str, value: str) -> Sequence[str]:
    """Return no reasons to refuse a change."""
    return ()


@dataclass(frozen=True, slots=True)
class Reading:
    """
    What jobs get of what people write. Without arguments, nothing is known to be left out.

    :param unread: source -> why jobs do not get its layers
    :param files: the paths of the files that are layers, as they are written, strongest last
    :param has_unopened: whether the task names files that a server does not open
    :param environ: the environment of the jobs, of which only names are shown
    :param unknown_keys: what the deployment does with keys that Spark does not know
    :param takes_any_key: whether the job also gets keys that do not begin with ``spark.``
    :param refusals: returns why dynamic configuration cannot set a key to a value
    """

    unread: Mapping[str, str] = field(default_factory=dict)
    files: Sequence[str] = ()
    has_unopened: bool = False
    environ: Mapping[str, str] = field(default_factory=dict, repr=False)
    unknown_keys: UnknownKeys = UnknownKeys.WARN
    takes_any_key: bool = False
    refusals: Callable[[str, str], Sequence[str]] = nothing_refused

    @property
    def other_files(self) -> str:
        """The layer files that are not read here: a run chooses them, or a server answers. Empty if there are none."""
        chosen = ", ".join(printable(path) for path in self.files if is_known_only_in_run(path))
        return chosen or "a layer file that the task names" * self.has_unopened

    def variable(self, key: str) -> str | None:
        """Return the name of the environment variable that is meant to override ``key``; None if there is none."""
        return EnvironmentOverrides(self.environ).origin(key)


def unread_sources(no_job: str = "") -> dict[str, str]:
    """
    Return source -> why jobs do not get its layers.

    :param no_job: why there is no job that gets any layer; empty if there are jobs
    """
    if no_job:
        return dict.fromkeys((source.name for source in ConfigSource), no_job)
    return dict(_left_out_by_settings())


def _left_out_by_settings() -> Iterator[tuple[str, str]]:
    if not settings.dynamic_enabled():
        reason = "[config_providers] dynamic_enabled is False here. Tasks with this setting ignore it."
        yield from dict.fromkeys(DYNAMIC, reason).items()
    if not settings.environment_enabled():
        reason = "This deployment does not read environment variables ([config_providers] environment_enabled)."
        yield ConfigSource.ENVIRONMENT_CONFIG.name, reason
    if not settings.run_config_enabled():
        reason = "This deployment does not read run configuration ([config_providers] run_config_enabled)."
        yield ConfigSource.RUN_CONFIG.name, reason


def refusals(alter: Callable[..., Any], resource: ConfigResource, key: str, value: str) -> Sequence[str]:
    """
    Return why dynamic configuration of ``resource`` cannot set ``key`` to ``value``; nothing if it can.

    Nothing is known for a user who lacks the permission to change it.

    :param alter: changes the configuration, or only checks the change
    :raises ProviderUnavailableError: the server or the database is unavailable now
    """
    try:
        alter(resource, [AlterConfigOp(key, value)], validate_only=True)
    except ProviderUnavailableError:
        raise
    except ForbiddenError:
        return ()
    except ConfigProvidersError as error:
        return error.problems
    return ()


_DEFAULT: Final = ConfigSource.DEFAULT_CONFIG.name

_OTHER_FORMATS: Final = (".json", ".toml")

_MOST_NAMED: Final = 10
"""The most layers that an answer names."""


_READ_AT_ONCE: Final = (
    "A running job that was submitted with restart reads it at once, any other job when it is submitted next."
)


class SettingStatus(Enum):
    """Whether a setting applies, or why not."""

    APPLIES = "applies"
    BEATEN = "beaten"
    """A stronger layer has the same key."""
    OTHER_SPELLING = "other spelling"
    """Another name of the same configuration wins."""
    TYPO = "typo"
    NOT_READ = "not read"
    """Jobs do not get the layer, or Spark does not get the key."""
    FILTERED = "filtered"
    """It was read and left out on purpose, as a service link of Kubernetes is."""
    NOT_ALLOWED = "not allowed"
    NOT_SET = "not set"
    """No layer has it."""


StatusAndReason = tuple[SettingStatus, str]
"""The status and the reason, in a sentence for people."""


def why_not(asked: str, rows: Sequence[Row], reading: Reading = Reading()) -> list[Row]:
    """
    Return a row for each setting that ``asked`` means, with its status and the reason.

    A value that is hidden is never compared, so that it cannot be guessed by asking.

    :param asked: ``KEY=VALUE``, a key, a path of a file, or the name of a layer as a description shows it
    :param rows: a description with synonyms
    """
    if found := [(row, one) for row in rows for one in row["synonyms"] if _is_of_layer(asked, one)]:
        return [_explained(row, one, reading) for row, one in found]
    key, sign, value = asked.partition("=")
    key = key.strip()
    if not _is_key(key, rows, has_value=bool(sign)):
        return [_answer(None, None, (SettingStatus.NOT_READ, _absence(asked, rows, reading)), layer=asked)]
    wanted = value if sign else None
    return [*_written(key, wanted, rows, reading)] or [*_unwritten(key, wanted, rows, reading)]


def _is_of_layer(asked: str, synonym: Row) -> bool:
    source, origin = synonym["source"], synonym["origin"]
    if asked in {source, origin, f"{source}, {origin}", origin.rpartition(", version ")[0]}:
        return True
    file = file_of(synonym)
    return bool(file) and _is_same_file(asked, file)


def _is_key(key: str, rows: Sequence[Row], *, has_value: bool) -> bool:
    if has_value:
        return "/" not in key
    return key.startswith(SPARK) or any(key == one["key"] for row in rows for one in row["synonyms"])


def _written(key: str, wanted: str | None, rows: Sequence[Row], reading: Reading) -> Iterator[Row]:
    """Yield the settings of ``key``, and those of a misspelling of it with the same value."""
    for row in rows:
        names = {row["key"], *(one["key"] for one in row["synonyms"])}
        found = [one for one in row["synonyms"] if one["source"] != _DEFAULT and _may_be(wanted, one["value"])]
        if found and (key in names or (wanted is not None and any(meant(name) == key for name in names))):
            yield from (_explained(row, one, reading, wanted=wanted) for one in found)


def _may_be(wanted: str | None, value: Any) -> bool:
    return wanted is None or isinstance(value, Hidden) or str(value) == wanted


def _explained(row: Row, synonym: Row, reading: Reading, *, wanted: str | None = None) -> Row:
    winner = next((one for one in row["synonyms"] if one["source"] not in reading.unread), synonym)
    verdict, reason = _verdict(row, synonym, winner, reading)
    if wanted is not None and isinstance(synonym["value"], Hidden):
        reason = f"Its value is hidden, and was not compared. {reason}"
    return _answer(synonym["key"], synonym["value"], (verdict, reason), layer=_layer(synonym), winner=winner)


def _verdict(row: Row, synonym: Row, winner: Row, reading: Reading) -> StatusAndReason:
    if unread := reading.unread.get(synonym["source"]):
        return SettingStatus.NOT_READ, unread
    is_of_author = synonym["key"] in OF_AUTHOR
    reason = READ_ONLY.get(synonym["key"])
    if is_of_author and ConfigSource[synonym["source"]].is_steered:
        return SettingStatus.NOT_ALLOWED, f"A run that gets it fails. It is read-only: {reason}"
    if winner is not synonym:
        return _beaten(synonym, winner)
    if problem := _of_name(synonym["key"], reading):
        return problem
    if reason and not is_of_author:
        return SettingStatus.NOT_READ, f"Jobs do not take it from the configuration: {reason}"
    unfit = "".join(f" A run that gets it would fail: {why}" for why in misfit_reasons(row["key"], row["value"]))
    stronger = f" It has no effect if {OF_AUTHOR[synonym['key']]}." if is_of_author else ""
    return SettingStatus.APPLIES, f"{_winning(row)}{stronger}{_unless_chosen(row, synonym, reading)}{unfit}"


def _winning(row: Row) -> str:
    if row.get("pending"):
        had = "nothing" if row["applied"] is None else one_line(str(row["applied"]))
        return f"It wins, and waits for the next submit. The last job had {had}."
    if row["key"] in RELOAD_ACTION_KEYS and row.get("pending", False) is None:
        return f"It wins. {_READ_AT_ONCE}"
    return "It wins."


def _unless_chosen(row: Row, winner: Row, reading: Reading) -> str:
    """Return a sentence about the files that only a run chooses and that would beat a winner; empty if none would."""
    files = files_that_beat(winner, reading.files) or row.get("or_from")  # which a server tells of its deployment
    if not files:
        return ""
    return (
        f" A run can have another value from {', '.join(map(printable, files))}, which is not read here and beats it."
    )


def _beaten(synonym: Row, winner: Row) -> StatusAndReason:
    is_same = not isinstance(winner["value"], Hidden) and winner["value"] == synonym["value"]
    same = " It has the same value." if is_same else ""
    if winner["key"] != synonym["key"]:
        name = f"'{printable(winner['key'])}' is another name of the same configuration, and wins"
        return SettingStatus.OTHER_SPELLING, f"{name}: {_layer(winner)}.{same}"
    return SettingStatus.BEATEN, f"{_layer(winner)} wins.{same}"


def _of_name(key: str, reading: Reading) -> StatusAndReason | None:
    found = find_in({key: ""}, reading.unknown_keys, takes_any_key=reading.takes_any_key)
    if problem := " ".join((*found.problems, *found.doubts)):
        return SettingStatus.TYPO if key.startswith(SPARK) else SettingStatus.NOT_READ, problem
    return None


def _unwritten(key: str, wanted: str | None, rows: Sequence[Row], reading: Reading) -> Iterator[Row]:
    """Yield why ``key`` does not have the value, if no layer has it."""
    shown = SECRET if wanted is not None and is_secret(key, wanted) else wanted
    if variable := reading.variable(key):
        yield _answer(key, None, _of_variable(variable, reading))
        return
    if problem := key_problem(key, f"'{printable(key)}'"):
        yield _answer(key, shown, (SettingStatus.NOT_ALLOWED, " ".join(problem.problems)))
    elif named := _of_name(key, reading):
        yield _answer(key, shown, named)
    elif refusals := reading.refusals(key, wanted) if wanted is not None else ():
        yield _answer(key, shown, (SettingStatus.NOT_ALLOWED, " ".join(refusals)))
    else:
        winner = next((row["synonyms"][0] for row in rows if row["key"] == key), None)
        reason = _applying_instead(key, wanted, winner)
        reason += _of_other_files(reading, is_beaten=winner is not None and winner["source"] not in BELOW_FILES)
        yield _answer(key, shown, (SettingStatus.NOT_SET, reason), winner=winner)


def _of_other_files(reading: Reading, *, is_beaten: bool = False) -> str:
    """Return a sentence about the files that are not read here; empty if there are none."""
    if not (files := reading.other_files):
        return ""
    if is_beaten:
        return f" It can be in {files}, which is not read here, but would be beaten there, too."
    return f" A run can have it from {files}, which is not read here."


def _of_variable(variable: str, reading: Reading) -> StatusAndReason:
    name, unread = printable(variable), reading.unread.get(ConfigSource.ENVIRONMENT_CONFIG.name)
    if unread:
        return SettingStatus.NOT_READ, f"The environment variable {name} is set. {unread}"
    return SettingStatus.FILTERED, f"The environment variable {name} is ignored, or has another value. See the notes."


def _applying_instead(key: str, wanted: str | None, winner: Row | None) -> str:
    if winner is not None:
        value = "" if isinstance(winner["value"], Hidden) else f" with {printable(str(winner['value']))}"
        return f"No layer has this value. {_layer(winner)} wins{value}."
    default = spark_definition().default_texts().get(key)
    if default is None:
        return "No layer sets it, and Spark has no default."
    same = "the same" if default == wanted else printable(default) or "empty"
    return f"No layer sets it. Spark's default is {same}."


def _absence(asked: str, rows: Sequence[Row], reading: Reading) -> str:
    if asked in ConfigSource.__members__:
        return reading.unread.get(asked) or "No key has this layer."
    if any(_is_same_file(asked, path) for path in reading.files):
        return "It is a layer, but sets no key, or cannot be read on this machine. See the notes."
    if PurePath(asked).suffix.lower() in _OTHER_FORMATS:
        return "Layer files are Java properties or YAML. Write the keys into a .properties or a .yaml file."
    written = (one for row in rows for one in row["synonyms"] if one["source"] != _DEFAULT)
    names = dict.fromkeys([*reading.files, *(file_of(one) or str(one["origin"]) for one in written)])
    known = first_of(names, most=_MOST_NAMED) or "none"
    hint = nearest(asked, names) or "."
    return (
        f"It is not among the layers{hint} The layers are {known}. Files become layers by [config_providers] "
        f"config_files, and by arguments of the task.{_of_other_files(reading)}"
    )


def _is_same_file(asked: str, path: str) -> bool:
    return os.path.abspath(asked) == os.path.abspath(path)  # noqa: PTH100 - Path cannot hold any text


def _layer(synonym: Row) -> str:
    return f"{synonym['source']}, {one_line(synonym['origin'])}"


def _answer(
    key: str | None, value: Any, outcome: StatusAndReason, *, layer: str | None = None, winner: Row | None = None
) -> Row:
    verdict, reason = outcome
    return {
        "key": key,
        "value": value,
        "layer": layer,
        "verdict": verdict.value,
        "reason": reason,
        "winner": dict(winner) if winner else None,
    }
