"""The proposal for one DAG file: its edits, what they mean, and what stays by hand."""

from __future__ import annotations

import ast
import json
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from airflow_config_providers.adoption.dag_source import CONFIGURATION, DagSource, OperatorCall, SecretRead, Setting
from airflow_config_providers.adoption.edits import Edit, Positions, edited, without_overlaps
from airflow_config_providers.adoption.patch_lines import unknown_lines
from airflow_config_providers.adoption.references import Providers, reads_json, reads_secrets, with_references
from airflow_config_providers.core.sensitive import shows_secret, sounds_secret
from airflow_config_providers.core.templates import is_template, without_templates
from airflow_config_providers.core.text import one_line, printable
from airflow_config_providers.core.variable import beside_references
from airflow_config_providers.lint.entry import WrittenEntry
from airflow_config_providers.lint.finding import SourcePlace
from airflow_config_providers.lint.rules import has_other_type
from airflow_config_providers.lint.rules import literal_findings as literal_secrets
from airflow_config_providers.spark.exposed_keys import is_exposed


@dataclass(frozen=True, slots=True, order=True)
class ByHand:
    """
    A place that stays as it is. It shows no value.

    :param path: the file; empty for the deployment
    :param line: counted from 1; 0 for the file itself
    :param reason: what is there, and what to do about it
    """

    path: str
    line: int
    reason: str

    def __str__(self) -> str:
        place = f"{one_line(self.path)}:{self.line}: " if self.line else f"{one_line(self.path)}: " if self.path else ""
        return f"{place}{one_line(self.reason)}"

    def row(self) -> dict[str, Any]:
        """Return the place for programs."""
        return {"file": self.path or None, "line": self.line or None, "reason": self.reason}


CLASSES: Final[Mapping[str, tuple[str, str]]] = {
    "airflow.providers.apache.spark.operators.spark_submit.SparkSubmitOperator": (
        "airflow_config_providers.operators.spark_submit",
        "ConfiguredSparkSubmitOperator",
    ),
    "airflow.providers.apache.spark.operators.spark_jdbc.SparkJDBCOperator": (
        "airflow_config_providers.operators.spark_jdbc",
        "ConfiguredSparkJDBCOperator",
    ),
}
"""Stock class -> the module and the name of the class that takes its place."""

_EXPOSED: Final = "'{}': Spark shows the value of this key to others. Pass the secret under another key."
_OF_JSON: Final = (
    "'{}': its template reads a part of JSON. If that is no string, a reference has another text: true in place of "
    "True. Write the reference if it is a string or a whole number, or if the job understands both."
)
_OWN_TEMPLATES: Final = (
    "'{}': a DAG of this file gives its templates another syntax or names of its own, so their meaning is not known. "
    "Write the reference if the template reads a connection or a variable of Airflow."
)
_REUSED: Final = (
    "'{}': line {} can read the configuration of this task, as in task.conf, and would get the reference as it is "
    "written. Change it by hand."
)
_NO_REFERENCE: Final = (
    "'{}': no reference can express the name of the {} that it reads, because of a colon, a brace or a template in it. "
    "Give the {} another name first."
)
PUT_TOGETHER: Final = (
    "'{}': its template reads a connection or a variable, and is not one string in the source. Write it as one, or "
    "change it by hand."
)
_UNSUPPORTED: Final = (
    "'{}': its template does more than a reference can, such as a filter, a default or a condition. Make it simpler, "
    "or leave it."
)


@dataclass(frozen=True, slots=True)
class Replacement:
    """
    A value that becomes one with references.

    :param task_id: the id of the task as its call has it; None if that is not a literal
    :param key: the key of the Spark configuration, or the name of an environment variable
    """

    task_id: str | None
    key: str
    text: str
    is_conf: bool


@dataclass(frozen=True, slots=True)
class MeaningDifference:
    """
    Something that a changed file would not mean as it did, or that cannot be compared.

    :param why: for people
    :param task_id: the task; empty for any
    :param key: the key of the Spark configuration, or the name of an environment variable; empty for the whole file
    """

    why: str
    task_id: str = ""
    key: str = ""

    def is_of(self, call: OperatorCall) -> bool:
        """Return whether ``call`` can have created the task."""
        return not self.task_id or call.can_be_of(self.task_id)


@dataclass(frozen=True, slots=True)
class FileProposal:
    """
    What is proposed for a DAG file.

    :param path: the file
    :param edits: changes of its source; none touches a hidden line
    :param replacements: what the edits mean for the jobs
    :param calls: the calls that create tasks
    :param replaced: value in the source -> its text with references
    :param removed: how many entries are removed because they have no effect
    :param hidden: the numbers of the lines that must not be shown, and so cannot change
    :param left: the values that must stay where they are
    """

    path: str
    source: str = field(repr=False)
    edits: tuple[Edit, ...] = ()
    replacements: tuple[Replacement, ...] = ()
    by_hand: tuple[ByHand, ...] = ()
    calls: tuple[OperatorCall, ...] = ()
    replaced: Mapping[ast.expr, str] = field(default_factory=dict, repr=False)
    removed: int = 0
    hidden: frozenset[int] = frozenset()
    left: frozenset[ast.expr] = frozenset()

    @property
    def after(self) -> str:
        """The source with the edits."""
        return edited(self.source, self.edits)


@dataclass(frozen=True, slots=True)
class ProposalRules:
    """
    What is proposed for each file.

    :param below: key -> value that every job has without the DAG
    :param uses_classes: whether DAGs get the operators of this package
    """

    providers: Providers
    below: Mapping[str, str] = field(repr=False)
    uses_classes: bool


class FileProposer:
    """
    Makes the proposal for one DAG file.

    :param path: the file
    :param source: its text
    :param differences: what an earlier proposal would have changed, so its entries stay as they are
    :raises SyntaxError, ValueError, RecursionError, MemoryError, TokenError: it is no Python, or nested too deeply
    """

    def __init__(
        self, path: str, source: str, rules: ProposalRules, *, differences: Collection[MeaningDifference] = ()
    ) -> None:
        self._path = path
        self._dag = DagSource(source)
        self._positions = Positions(source)
        self._rules = rules
        self._calls = tuple(self._dag.calls())
        self._hidden = unknown_lines(self._dag, self._calls)
        self._left = frozenset(_left_entries(differences, self._calls))
        self._edits: list[Edit] = []
        self._replacements: list[Replacement] = []
        self._by_hand: list[ByHand] = []
        self._replaced: dict[ast.expr, str] = {}
        self._removed = 0
        self._read: set[ast.AST] = set()

    def proposal(self) -> FileProposal:
        """Return what is proposed for the file."""
        for call in self._calls:
            self._of_call(call)
        if self._rules.uses_classes:
            self._change_classes()
        self._report_reads()
        return FileProposal(
            self._path,
            self._dag.text,
            edits=tuple(without_overlaps(self._edits)),
            replacements=tuple(dict.fromkeys(self._replacements)),
            by_hand=tuple(sorted(set(self._by_hand))),
            calls=self._calls,
            replaced=self._replaced,
            removed=self._removed,
            hidden=self._hidden,
            left=self._left,
        )

    def _of_call(self, call: OperatorCall) -> None:
        for setting in call.entries():
            self._of_setting(call, setting)
        self._report_other_strings(call)

    def _of_setting(self, call: OperatorCall, setting: Setting) -> None:
        if setting.node in self._left:
            return
        read = self._dag.read_of(setting.node)
        if call.reused and (read is not None or reads_secrets(setting.text or "")):
            self._leave(setting.node, _REUSED.format(printable(setting.key), call.reused))
            return
        if setting.is_conf and self._is_dead(call, setting):
            return
        if read is not None and read.is_plain:
            self._of_read(call, setting, read)
        elif setting.text is not None and reads_secrets(setting.text):
            self._of_template(call, setting, setting.text)
        elif setting.text is not None:
            self._report_literal(setting)
        elif any(map(reads_secrets, setting.strings())):
            self._leave(setting.node, PUT_TOGETHER.format(printable(setting.key)))

    def _of_read(self, call: OperatorCall, setting: Setting, read: SecretRead) -> None:
        self._read.update(ast.walk(read.node))
        of = self._rules.providers
        text = of.of_variable(read.name) if read.kind == "variable" else of.of_connection(read.name, read.field)
        if text:
            self._replace(call, setting, text)
        else:
            self._leave(setting.node, _NO_REFERENCE.format(printable(setting.key), read.kind, read.kind))

    def _of_template(self, call: OperatorCall, setting: Setting, template: str) -> None:
        text = with_references(template, self._rules.providers)
        if self._dag.has_own_templates:
            self._leave(setting.node, _OWN_TEMPLATES.format(printable(setting.key)))
        elif text is None:
            self._leave(setting.node, _UNSUPPORTED.format(printable(setting.key)))
        elif reads_json(template) and not (sounds_secret(setting.key) or has_other_type(setting.key)):
            self._leave(setting.node, _OF_JSON.format(printable(setting.key)))
        else:
            self._replace(call, setting, text)

    def _replace(self, call: OperatorCall, setting: Setting, text: str) -> None:
        if setting.is_conf and is_exposed(setting.key, text):
            self._leave(setting.node, _EXPOSED.format(printable(setting.key)))
        elif self._edit(self._positions.replacing(setting.node, _literal(text)), setting.node):
            self._replacements.append(Replacement(call.task_id, setting.key, text, setting.is_conf))
            self._replaced[setting.node] = text

    def _is_dead(self, call: OperatorCall, setting: Setting) -> bool:
        """Remove an entry that always loses, or that says what every job has anyway; return whether it is removed."""
        key = key_node(setting)
        if not setting.key or key is None or setting.text is None or call.reused:
            return False
        named = {spark_key: argument for argument, spark_key in call.spec.named.keys.items()}
        value = call.argument(named.get(setting.key, ""))
        loses = call.is_direct and isinstance(value, ast.Constant) and _is_always_set(value.value)
        has_files = any(call.argument(name) is not None for name in call.spec.paths)
        is_repeated = not has_files and self._rules.below.get(setting.key) == setting.text
        is_dead = bool(loses or is_repeated)
        is_removed = is_dead and self._edit(self._positions.removing(key, setting.mapping), setting.node)
        self._removed += is_removed
        return is_removed

    def _change_classes(self) -> None:
        stock = [call for call in self._calls if not call.is_configured]
        for path in dict.fromkeys(call.path for call in stock):
            imported = self._dag.imports(path)
            if path.endswith(".task.pyspark"):
                self._change_decorators(call.node.func for call in stock if call.path == path)
            elif path not in CLASSES:
                self._by_hand.append(ByHand(self._path, 0, _NO_CLASS.format(path.rpartition(".")[2])))
            elif len(imported) == 1 and len(imported[0][0].names) == 1 and imported[0][1].asname is None:
                self._change_class(path, imported[0][0])
            else:
                line = imported[0][0].lineno if imported else 0
                self._by_hand.append(ByHand(self._path, line, _ODD_IMPORT.format(*CLASSES[path])))

    def _change_decorators(self, decorators: Iterable[ast.expr]) -> None:
        for node in decorators:
            if isinstance(node, ast.Attribute):
                self._edit(self._positions.replacing(node, f"{ast.unparse(node.value)}.configured_pyspark"), node)

    def _change_class(self, path: str, statement: ast.ImportFrom) -> None:
        module, name = CLASSES[path]
        edits = [self._positions.replacing(statement, f"from {module} import {name}")]
        edits += [self._positions.replacing(use, name) for use in self._dag.uses(path.rpartition(".")[2])]
        hidden = sorted({line for edit in edits for line in self._hidden_in(edit)})
        if hidden:
            reason = f"the class is not changed to {name}: {_UNKNOWN}"
            self._by_hand.append(ByHand(self._path, hidden[0], reason))
        else:
            self._edits += edits

    def _edit(self, edit: Edit, node: ast.expr) -> bool:
        """Add an edit, unless it would show a secret; return whether it was added."""
        if self._hidden_in(edit):
            self._leave(node, _UNKNOWN)
            return False
        self._edits.append(edit)
        return True

    def _hidden_in(self, edit: Edit) -> list[int]:
        return [line for line in self._positions.lines(edit) if line in self._hidden]

    def _leave(self, node: ast.expr | ast.stmt, reason: str) -> None:
        self._by_hand.append(ByHand(self._path, node.lineno, reason))

    def _report_literal(self, setting: Setting) -> None:
        entry = WrittenEntry(setting.key, setting.text or "", SourcePlace(self._path, setting.node.lineno), "")
        for _ in literal_secrets(entry):
            self._leave(setting.node, _WRITTEN_OUT.format(f"'{printable(setting.key)}'"))

    def _report_other_strings(self, call: OperatorCall) -> None:
        for node, argument, text in call.other_strings():
            if shows_secret(beside_references(without_templates(text))):
                self._leave(node, _WRITTEN_OUT.format(printable(argument)))
            if reads_secrets(text):
                advice = _advice_on(call, argument)
                self._leave(node, f"{printable(argument)}: its template reads a connection or a variable. {advice}")

    def _report_reads(self) -> None:
        for read in self._dag.reads():
            if read.node in self._read:
                continue
            around = self._dag.functions_around(read.node)
            if not any(map(self._dag.is_run_by_task, around)):
                self._leave(read.node, (_READ_IF_CALLED if around else _READ).format(read.kind))


_UNKNOWN: Final = (
    "this line has something on it that could be a secret, so no change of it is shown. If it has anything else on it, "
    "write the entry, or the name of the class, on a line of its own and run adopt again. Otherwise change it by hand: "
    "{{ conn.db.password }} becomes ${connection:db:password}."
)
_WRITTEN_OUT: Final = (
    "{}: a secret is written out. Put it into a secret store, write a reference, and change the secret: it is in the "
    "history of the repository."
)
_USED: Final = "Write a reference where the value is used, if that is the configuration of a job."
_READ: Final = f"a {{}} is read whenever the file is parsed. {_USED}"
_READ_IF_CALLED: Final = f"a {{}} is read whenever the file is parsed, if this function is called then. {_USED}"
_ELSEWHERE: Final = (
    "Only conf and env_vars are changed: in other arguments, others could read the value. Pass a secret under a key of "
    "conf, and let the job read it there; leave anything else as it is."
)
_NO_CONF: Final = (
    "{} has no Spark configuration that could be changed, and others can read its arguments. Let the job itself read a "
    "secret from its store; leave anything else as it is."
)
_IN_CODE: Final = (
    "Only a mapping {...} is changed, with other mappings in it by ** or |, and a name that only operators for Spark "
    "use. Write it as one, or change it by hand."
)
_EMPTY: Final = "'{}' is empty after the patch. Remove it, and where it is used."
_NO_CLASS: Final = "{}: this package has no class of its own for it. Use configured(), or set apply_to."
_ODD_IMPORT: Final = (
    "import {1} from {0} in place of the stock class: this import does not have a form that can be changed safely."
)


def _advice_on(call: OperatorCall, argument: str) -> str:
    """Return what to do about a template in an argument that is not changed."""
    if argument in CONFIGURATION:
        return _IN_CODE
    return _ELSEWHERE if call.spec.conf else _NO_CONF.format(call.path.rpartition(".")[2])


def emptied(proposal: FileProposal) -> Iterator[ByHand]:
    """Yield each mapping with a name of which the proposal removes all entries."""
    after = DagSource(proposal.after).mappings
    for name, mapping in DagSource(proposal.source).mappings.items():
        if mapping.keys and name in after and not after[name].keys:
            yield ByHand(proposal.path, mapping.lineno, _EMPTY.format(name))


def _left_entries(differences: Collection[MeaningDifference], calls: Sequence[OperatorCall]) -> Iterator[ast.expr]:
    """
    Yield the values under the key of each difference: those in the calls of its task.

    If those calls have none, or if it is still there without them, all in the file: the task got a mapping otherwise.
    """
    for one, count in Counter(differences).items():
        found = [(call, entry.node) for call in calls for entry in call.entries() if entry.key == one.key]
        own = [node for call, node in found if one.is_of(call)]
        yield from own if own and count == 1 else (node for _, node in found)


def plain_settings(call: OperatorCall, replaced: Mapping[ast.expr, str]) -> Iterator[tuple[Setting, str]]:
    """
    Yield the entries that could be in a layer file: constant strings, without secrets and without templates.

    :param replaced: value in the source -> its text with references
    """
    for setting in call.conf:
        text = replaced.get(setting.node, setting.text)
        if not setting.key or text is None or is_template(text):
            continue
        if not list(literal_secrets(WrittenEntry(setting.key, text, SourcePlace(""), ""))):
            yield setting, text


def key_node(setting: Setting) -> ast.expr | None:
    """Return the key of an entry in the source."""
    place = next(index for index, value in enumerate(setting.mapping.values) if value is setting.node)
    return setting.mapping.keys[place]


def _is_always_set(value: object) -> bool:
    """Return whether an argument wins in every run: a template can render to nothing, and then the key applies."""
    return bool(value) and not is_template(str(value))


def _literal(text: str) -> str:
    """Return ``text`` as Python and its formatters write it."""
    return json.dumps(text, ensure_ascii=False) if text.isprintable() else repr(text)
