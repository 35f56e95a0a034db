"""Finds the files of `hf://owner/name@revision:config/split` on the Hugging Face Hub.

Invariant: the revision is part of the name, so that the same spec reads the same rows next year.
"""

from __future__ import annotations

import fnmatch
import importlib
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gradetrail.errors import DatasetError, DependencyError, Fault

PREFIX = "hf://"
FORM = "hf://owner/name@revision:config/split"
DATA_FILE = re.compile(r"\.(parquet|arrow|jsonl|ndjson|json|csv|tsv)(\.gz|\.zst)?\Z")
_FORM = re.compile(r"hf://([\w.-]+/[\w.-]+)@([^:\s]+):([^/\s]+)/([^\s]+)\Z")


@dataclass(frozen=True, slots=True)
class HubDataset:
    """One split of one configuration, at a revision."""

    repo: str
    """`owner/name`."""
    revision: str
    config: str
    split: str


def parse_hub(path: str, where: str = "") -> HubDataset:
    """Take `hf://owner/name@revision:config/split` apart. Raises DatasetError on another form."""
    match = _FORM.match(path)
    if match is None:
        reason = "names no revision" if "@" not in path else "is not a dataset on the Hub"
        raise DatasetError(Fault(f"`{path}` {reason}", where, "dataset.path", f"write {FORM}"))
    return HubDataset(*match.groups())


def hub_files(path: str, where: str = "") -> list[Path]:
    """Download the files of a split, or find them in the local cache; in the order of their names.

    Raises DependencyError without the extra `hf`, DatasetError if the Hub has no such split.
    """
    wanted = parse_hub(path, where)
    try:
        hub: Any = importlib.import_module("huggingface_hub")
    except ImportError:
        raise DependencyError(
            Fault(f"`{path}` needs huggingface_hub", where, "dataset.path", "pip install 'gradetrail[hf]'")
        ) from None
    place = {"repo_id": wanted.repo, "repo_type": "dataset", "revision": wanted.revision}
    try:
        names = hub.HfApi().list_repo_files(**place)
        card = Path(hub.hf_hub_download(filename="README.md", **place)) if "README.md" in names else None
        listed = data_files(card.read_text(encoding="utf-8") if card else "", wanted)
        chosen = choose_files(names, wanted, listed)
        if not chosen:
            raise DatasetError(_no_split(names, wanted, where))
        return [Path(hub.hf_hub_download(filename=name, **place)) for name in chosen]
    except (OSError, ValueError) as error:
        message = f"{wanted.repo}@{wanted.revision}: {str(error).splitlines()[0]}"
        raise DatasetError(
            Fault(message, where, "dataset.path", "check name, revision and connection")
        ) from error


def data_files(card: str, wanted: HubDataset) -> tuple[str, ...]:
    """Read the patterns that a dataset card gives for a split; empty if it gives none."""
    import yaml

    front = re.match(r"---\n(.*?)\n---", card, re.DOTALL)
    try:
        metadata = yaml.safe_load(front[1]) if front else None
    except yaml.YAMLError:
        metadata = None
    configs = metadata.get("configs") if isinstance(metadata, dict) else None
    for config in configs if isinstance(configs, list) else []:
        if not isinstance(config, dict) or config.get("config_name") != wanted.config:
            continue
        files = config.get("data_files")
        for entry in files if isinstance(files, list) else []:
            if isinstance(entry, dict) and entry.get("split") == wanted.split:
                paths = entry.get("path")
                return tuple(map(str, paths)) if isinstance(paths, list) else (str(paths),)
    return ()


def choose_files(names: Iterable[str], wanted: HubDataset, patterns: Sequence[str] = ()) -> list[str]:
    """Choose a split's files: by the card's patterns, else by folder (config) and file name (split)."""
    data = sorted(name for name in names if DATA_FILE.search(name))
    if patterns:
        return [name for name in data if any(fnmatch.fnmatch(name, pattern) for pattern in patterns)]
    split = re.compile(rf"(.*/)?{re.escape(wanted.split)}([-_.][^/]*|/[^/]*)\Z")
    of_split = [name for name in data if split.match(name)]
    of_config = [name for name in of_split if wanted.config in name.split("/")[:-1]]
    if not of_config and wanted.config == "default":
        of_config = of_split
    endings = [DATA_FILE.search(name) for name in of_config]
    kinds = {match[0] for match in endings if match}
    best = ".parquet" if ".parquet" in kinds else min(kinds, default="")
    return [name for name in of_config if name.endswith(best)]


def _no_split(names: Iterable[str], wanted: HubDataset, where: str) -> Fault:
    data = sorted(name for name in names if DATA_FILE.search(name))
    more = f" and {len(data) - 20} more" if len(data) > 20 else ""
    return Fault(
        f"{wanted.repo} has no files for config `{wanted.config}`, split `{wanted.split}`",
        where,
        "dataset.path",
        f"its data files: {', '.join(data[:20]) or 'none'}{more}",
    )
