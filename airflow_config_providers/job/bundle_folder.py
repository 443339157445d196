"""The folder of a version of a DAG bundle. Paths in it differ between two versions, although nothing was changed."""

from __future__ import annotations


def version_folder(dag_file: str, version: str) -> str:
    """Return the folder of a version of a bundle; empty if the path of a DAG file in it does not name the version."""
    parts = dag_file.split("/")
    return "/".join(parts[: parts.index(version) + 1]) if version and version in parts else ""


def other_folder(other: str, dag_file: str, folder: str) -> str:
    """
    Return the folder of another version of a bundle, such as the one from which the DAG processor reads.

    :param other: the path of a DAG file in it
    :param dag_file: the path of the same file below ``folder``
    :return: empty if ``other`` is not the same file, or ``folder`` is empty
    """
    below = dag_file.removeprefix(folder)
    return other.removesuffix(below) if folder and other.endswith(below) else ""


def unversioned(text: str, folder: str, bundle: str = "") -> str:
    """
    Return ``text`` as it is in each version of a bundle. It is for comparisons, and no path.

    :param folder: of a version; empty to change nothing
    :param bundle: its name, without which texts of different bundles cannot be compared
    """
    return text.replace(folder, f"{{bundle {bundle}}}") if folder else text
