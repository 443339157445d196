"""Reads the DAG files of a deployment, and proposes references and layer files for them."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from airflow_config_providers import settings
from airflow_config_providers.adoption.dag_source import imported_files
from airflow_config_providers.adoption.edits import FileChange, blocks, patch
from airflow_config_providers.adoption.file_proposal import ByHand, FileProposal, ProposalRules, emptied
from airflow_config_providers.adoption.patch_lines import lines_with_text
from airflow_config_providers.adoption.proof import Imports, ProofMaker, are_in_all
from airflow_config_providers.adoption.references import Providers
from airflow_config_providers.adoption.shared_layers import SharedLayer, Sharing, written_path
from airflow_config_providers.core.layers import LayeredConfig
from airflow_config_providers.core.text import counted, printable
from airflow_config_providers.core.variable import variables
from airflow_config_providers.dynamic.admin import no_notes
from airflow_config_providers.exceptions import system_reason
from airflow_config_providers.job.job_layers import deployed_layers
from airflow_config_providers.lint.dag_files import DagFile, Progress
from airflow_config_providers.lint.dag_process import AirflowProcess
from airflow_config_providers.lint.paths import LintedPaths, dags_folder

LAYERS = "layers"
"""The folder of the layer files in the patch."""


@dataclass(frozen=True, slots=True)
class AdoptRequest:
    """
    What to adopt, and how.

    :param paths: DAG files and folders; empty for all of the deployment
    :param uses_classes: whether DAGs get the operators of this package; otherwise ``apply_to`` configures stock ones
    :param least: how many jobs must share a value before it moves to a layer file
    :param layers_folder: the folder of the layer files, as jobs see it; empty for ``layers`` in the folder of the DAGs
    :param seconds: the longest time for importing one file
    """

    paths: Sequence[str] = ()
    uses_classes: bool = False
    least: int = 3
    layers_folder: str = ""
    seconds: float = 60.0
    providers: Providers = field(default_factory=Providers)


@dataclass(frozen=True, slots=True)
class Adoption:
    """
    What is proposed.

    :param files: the DAG files that change
    :param layers: the new layer files
    :param by_hand: what stays by hand, in order
    :param advice: settings of the deployment that the proposal needs
    :param root: the folder in which the patch applies
    """

    files: Sequence[FileProposal]
    layers: Sequence[SharedLayer]
    by_hand: Sequence[ByHand]
    advice: Sequence[str]
    root: Path

    def patch(self) -> str:
        """Return the patch. Around a change, it shows only lines without strings, numbers and comments."""
        dags = [
            FileChange(self._name(one), one.source, blocks(one.source, one.edits), lines_with_text(one.source))
            for one in self.files
        ]
        return patch([*dags, *(FileChange.new(f"{LAYERS}/{layer.name}", layer.text) for layer in self.layers)])

    def summary(self) -> str:
        """Return the proposal in one sentence."""
        references = sum(len(variables(replaced.text)) for one in self.files for replaced in one.replacements)
        removed = sum(one.removed for one in self.files)
        return (
            f"Adopt: {counted(len(self.files), 'DAG file')} to change, with {counted(references, 'reference')}; "
            f"{counted(removed, 'entry', 'entries')} without effect to remove; "
            f"{counted(len(self.layers), 'layer file')} to add; "
            f"{counted(len(self.by_hand), 'place')} to change by hand."
        )

    def _name(self, one: FileProposal) -> str:
        return Path(one.path).resolve().relative_to(self.root).as_posix()


def proposed(request: AdoptRequest, progress: Progress, origin: AirflowProcess) -> Adoption:
    """
    Return what is proposed. Nothing is changed.

    :param origin: the process whose copies import the files, with the environment of ``ENVIRONMENT``
    :raises ConfigException: a path does not exist, or Airflow does not start
    """
    paths = (LintedPaths.of(request.paths) if request.paths else LintedPaths.of_deployment()).dags
    root = _root(request.paths)
    folder = request.layers_folder or str(root / LAYERS)
    read, problems = _read(paths, root)
    with progress(2 * len(read)) as tick:
        imports = Imports(root, request.seconds, tick, origin)
        before = dict(zip(read, imports.before(list(read)), strict=True))
        is_of_all = are_in_all(() if request.paths else before.values())
        taken, unread = names_in(root / LAYERS, Path(folder))
        sharing = Sharing(request.least, folder, request.uses_classes, is_of_all, taken)
        below = LayeredConfig(deployed_layers(None, {}, warn=no_notes)).settled
        rules = ProposalRules(request.providers, below, request.uses_classes)
        proofs = ProofMaker(rules, before, imported_files(read, root), sharing, imports)
        proved = proofs.proposals(read)
    problems += [*unread, *proved.problems, *(problem for one in proved.files for problem in one.by_hand)]
    problems += [
        ByHand("", 0, f"{note} With --operators classes, a layer file has them once.") for note in proved.notes
    ]
    changed = [one for one in proved.files if one.edits]
    problems += [one for proposal in changed for one in emptied(proposal)]
    used = [layer for layer in proved.layers if _is_used(layer, changed, folder)]
    families = set(_families(read, before, proved.files))
    advice = list(_advice(proved.files, used, folder=folder, request=request, families=families))
    return Adoption(changed, used, sorted(set(problems)), advice, root)


def _is_used(layer: SharedLayer, changed: Sequence[FileProposal], folder: str) -> bool:
    """Return whether a layer file is named in a changed file, or by the deployment."""
    path = written_path(f"{folder}/{layer.name}")
    return bool(changed) and (layer.is_of_deployment or any(path in one.after for one in changed))


def _root(paths: Sequence[str]) -> Path:
    """Return the folder in which all files are, and from which they import modules."""
    folders = [path if Path(path).is_dir() else str(Path(path).parent) for path in paths or [dags_folder()]]
    deployed = Path(dags_folder()).resolve()
    common = Path(os.path.commonpath([Path(folder).resolve() for folder in folders]))
    return deployed if common.is_relative_to(deployed) else common


def _read(paths: Sequence[str], root: Path) -> tuple[dict[str, str], list[ByHand]]:
    read: dict[str, str] = {}
    problems: list[ByHand] = []
    for path in _once(paths):
        text, problem = _text(path, root)
        if problem:
            problems.append(ByHand(path, 0, problem))
        else:
            read[path] = text
    return read, problems


_UNREAD: Final = (
    "this folder of layer files cannot be read ({}). Make sure that it has none of the files that the patch adds."
)


def names_in(*folders: Path) -> tuple[frozenset[str], list[ByHand]]:
    """Return the names in those of ``folders`` that exist here, and which of them cannot be read."""
    names: set[str] = set()
    unread = []
    for folder in folders:
        try:
            names.update(os.listdir(folder))  # noqa: PTH208 - the names are wanted
        except (FileNotFoundError, NotADirectoryError):  # only jobs have it
            continue
        except OSError as error:
            unread.append(ByHand(str(folder), 0, _UNREAD.format(system_reason(error))))
    return frozenset(names), unread


def _once(paths: Iterable[str]) -> list[str]:
    """Return each file once, whichever links lead to it."""
    found: dict[Path, str] = {}
    for path in paths:
        found.setdefault(Path(path).resolve(), path)
    return list(found.values())


def _text(path: str, root: Path) -> tuple[str, str]:
    """Return the text of a file, or an empty one and why the file cannot be changed."""
    if not Path(path).resolve().is_relative_to(root):
        return "", "it is a link that leads out of the folder. Name the file itself."
    try:
        text = Path(path).read_bytes().decode()
    except (OSError, UnicodeDecodeError):
        return "", "it is not a file with text in UTF-8, such as an archive."
    if text.startswith("\ufeff"):
        return "", "it begins with a byte order mark. Remove it first."
    if "\r" in text.replace("\r\n", ""):
        return "", "its lines end with a carriage return alone. Convert it first."
    return text, ""


def _families(
    texts: Mapping[str, str], files: Mapping[str, DagFile], proposals: Sequence[FileProposal]
) -> Iterator[str]:
    """Yield the families of stock operators, and of subclasses in files that do not use this package themselves."""
    yield from (call.spec.family for one in proposals for call in one.calls if not call.is_configured)
    stored = (file.stored for path, file in files.items() if "airflow_config_providers" not in texts[path])
    yield from (job.family for jobs in stored for job in jobs if job.family)


def _advice(
    proposals: Sequence[FileProposal],
    layers: Sequence[SharedLayer],
    *,
    folder: str,
    request: AdoptRequest,
    families: Set[str],
) -> Iterator[str]:
    known = set(settings.apply_to())
    missing = set() if "spark" in known else families - known
    if missing and not request.uses_classes:
        yield f"Set apply_to = {', '.join(sorted(known | missing))} in [config_providers], or use --operators classes."
    yield from _advice_on_environments(proposals)
    for layer in layers:
        yield f"{layer.reduction}."
        if layer.is_of_deployment:
            yield f"Add {folder}/{layer.name} at the end of config_files in [config_providers]."
    used = " ".join(one.text for proposal in proposals for one in proposal.replacements)
    classes = {request.providers.connection: "airflow_connection", request.providers.variable: "airflow_variable"}
    home = printable(settings.config_conn_id())
    for name, kind in classes.items():
        if f"${{{name}:" in used:
            yield (
                f"Define the provider '{printable(name)}' of class {kind} in the connection '{home}', unless it is "
                f"there, and let its allowlist.pattern match the names in the references."
            )


def _advice_on_environments(proposals: Sequence[FileProposal]) -> Iterator[str]:
    """Yield what to do about references in ``env_vars``: which connection a task has is known only when it runs."""
    found = [one for one in proposals if not all(replaced.is_conf for replaced in one.replacements)]
    if found:
        names = ", ".join(sorted(printable(Path(one.path).name) for one in found))
        yield (
            f"The patch has references in env_vars ({names}). They are refused on YARN, and on Kubernetes in cluster "
            f"mode: for tasks that run there, use a key of conf instead, and have the job read it with spark.conf.get."
        )
