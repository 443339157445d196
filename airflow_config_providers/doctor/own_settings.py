"""Checks the settings of ``[config_providers]``, and the files that they and the secrets backend name."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Final

from airflow_config_providers import settings
from airflow_config_providers.airflow_compat import conf
from airflow_config_providers.core.diagnosis import Diagnosing, Diagnosis, doubt, fault, fine, of_problem
from airflow_config_providers.core.policy import Enforcement
from airflow_config_providers.core.templates import is_known_only_in_run
from airflow_config_providers.core.text import counted, nearest, printable
from airflow_config_providers.doctor.examination import Site
from airflow_config_providers.exceptions import ConfigProvidersError, problems_of
from airflow_config_providers.get_provider_info import OPTIONS
from airflow_config_providers.job.operator_specs import require_known
from airflow_config_providers.job.policies import open_policies
from airflow_config_providers.job.template_paths import bounds_of_deployment
from airflow_config_providers.lazy import sa
from airflow_config_providers.providers import airflow_secrets
from airflow_config_providers.providers.checks import rights_of
from airflow_config_providers.spark.layer_files import ConfigFile, file_layer

_PREFIX: Final = "AIRFLOW__CONFIG_PROVIDERS__"
_INDIRECT: Final = ("_cmd", "_secret")
"""The endings with which Airflow takes a sensitive option from a command or from a secrets backend."""

_BOOLEANS: Final = frozenset({"t", "true", "1", "f", "false", "0"})

_READERS: Final[tuple[Callable[[], object], ...]] = (
    lambda: require_known(settings.apply_to()),
    settings.follow_interval,
    settings.max_workers,
    settings.reload_settling,
    settings.reloads_per_hour,
    settings.resolve_in,
    settings.resolve_timeout,
    settings.unknown_keys,
    settings.unresolved,
)


def check_settings(site: Site) -> Iterator[Diagnosis]:
    """Yield the settings that are unknown or wrong."""
    in_file = conf.options(settings.SECTION) if conf.has_section(settings.SECTION) else ()
    in_environment = (name.removeprefix(_PREFIX).lower() for name in site.environ if name.startswith(_PREFIX))
    unreadable = (of_problem(problem) for read in _READERS for problem in problems_of(read))
    found = [*_unknown({*in_file, *in_environment}), *_booleans(), *unreadable]
    yield from found or [fine("All settings of [config_providers] are known and valid.")]


def _unknown(written: set[str]) -> Iterator[Diagnosis]:
    for name in sorted(written):
        if name not in OPTIONS and not _is_indirect(name):
            hint = nearest(name, OPTIONS) or "."
            yield fault(
                f"[config_providers] has no setting '{printable(name)}'{hint}", "Correct its name, or remove it."
            )


def _is_indirect(name: str) -> bool:
    known = (name.removesuffix(ending) for ending in _INDIRECT if name.endswith(ending))
    return any(one in OPTIONS and OPTIONS[one].sensitive for one in known)


def _booleans() -> Iterator[Diagnosis]:
    for name, option in OPTIONS.items():
        text = str(conf.get(settings.SECTION, name, fallback=option.default)) if option.type == "boolean" else "true"
        if text.partition("#")[0].strip().lower() not in _BOOLEANS:
            yield fault(f"[config_providers] {name} is neither True nor False.", "Correct it in airflow.cfg.")


_PROCESSES: Final = {"DagProcessorJob": "DAG processor", "SchedulerJob": "scheduler", "TriggererJob": "triggerer"}
_JOBS: Final = "scheduler, DAG processor or triggerer"
"""Of these, Airflow's database says when they started; of workers and API servers, it does not."""

_ALIVE: Final = timedelta(minutes=5)


def check_apply_to(site: Site) -> Iterator[Diagnosis]:
    """
    Yield the processes that started before airflow.cfg was changed, which use the settings from before.

    A worker of Celery or at the edge is not among them: Airflow's database does not say when it started.

    :raises ConfigException: ``apply_to`` is wrong
    """
    families = settings.apply_to()
    require_known(families)
    changed = _changed(site)
    waiting = [job for job in _jobs() if changed and job.start_date < changed]
    for kind in sorted({str(job.job_type) for job in waiting}):
        yield doubt(
            f"A {_PROCESSES[kind]} has run since before airflow.cfg was changed, so it uses the settings from before.",
            f"Restart the {_PROCESSES[kind]}.",
        )
    if not waiting:
        yield fine(f"apply_to is {', '.join(families) or 'empty'}; no {_JOBS} waits for a restart.")


def _changed(site: Site) -> datetime | None:
    """Return when airflow.cfg was last changed; None if there is none."""
    from airflow.configuration import AIRFLOW_CONFIG  # noqa: PLC0415 - slow to import

    try:
        return datetime.fromtimestamp(Path(AIRFLOW_CONFIG).stat().st_mtime, UTC)
    except OSError:
        return None


def _jobs() -> list[Any]:
    from airflow.jobs.job import Job  # noqa: PLC0415 - heavy
    from airflow.utils.session import create_session  # noqa: PLC0415 - heavy

    since = datetime.now(UTC) - _ALIVE
    query = sa.select(Job.job_type, Job.start_date).where(
        Job.job_type.in_(_PROCESSES), Job.state == "running", Job.latest_heartbeat >= since
    )
    with create_session() as session:
        return list(session.execute(query))


def check_files(site: Site) -> Iterator[Diagnosis]:
    """Yield what is found about the layer files and the policies: whether they load, and who else can change them."""
    for path in settings.config_files():
        if not is_known_only_in_run(path):
            yield from _file(path, _layer_file)
    if path := settings.policies_file():
        yield from _file(path, _policies)
    for path in settings.config_paths():
        yield from rights_of(path)


def _file(path: str, load: Callable[[str], str]) -> Iterator[Diagnosis]:
    """Yield what is found about a file; ``load`` returns what is fine about it."""
    try:
        what = load(path)
    except ConfigProvidersError as error:
        yield from map(of_problem, error.problems)
        return
    yield fine(what)
    yield from rights_of(path)


def _layer_file(path: str) -> str:
    layer = file_layer(ConfigFile(path, path, bounds=bounds_of_deployment(settings.config_paths())))
    return f"The layer file '{printable(path)}' sets {counted(len(layer.configs), 'key')}."


def _policies(path: str) -> str:
    with open_policies(path) as policies:
        warning = [f"'{printable(one.name)}'" for one in policies if one.enforcement is Enforcement.WARN]
        loads = f"The policies file '{printable(path)}' loads, with {counted(len(policies), 'policy', 'policies')}"
        return f"{loads}. These only warn: {', '.join(warning)}." if warning else f"{loads}."


_BACKENDS: Final = {("secrets", "backend"): False, ("workers", "secrets_backend"): True}
"""The section and the option that name a secrets backend -> whether it is that of workers."""


def check_backend(site: Site) -> Iterator[Diagnosis]:
    """
    Yield what is found about each file of this package's secrets backend; no reference is resolved.

    :raises ProviderDefinitionError: a backend cannot be created
    """
    named = [is_worker for name, is_worker in _BACKENDS.items() if conf.get(*name, fallback="")]
    backends = [airflow_secrets.configured_backend(of_worker=is_worker) for is_worker in named]
    ours = [backend for backend in backends if isinstance(backend, Diagnosing)]
    for backend in ours:
        yield from backend.diagnose()
    if not ours:
        yield fine("Airflow uses no secrets backend of this package.")
