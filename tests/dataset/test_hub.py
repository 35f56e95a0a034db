"""A dataset on the Hugging Face Hub is named with its revision, and its files are chosen by rule."""

from __future__ import annotations

import sys

import pytest

from gradetrail.dataset.hub import HubDataset, choose_files, data_files, parse_hub
from gradetrail.errors import DatasetError, DependencyError
from tests.dataset.loading import load

MMLU = HubDataset("cais/mmlu", "c30699e", "all", "test")


def test_the_name_holds_revision_config_and_split() -> None:
    assert parse_hub("hf://cais/mmlu@c30699e:all/test") == MMLU
    assert parse_hub("hf://o/n.x-1@refs/convert/parquet:default/train[1]").split == "train[1]"
    assert parse_hub("hf://o/n@refs/convert/parquet:default/train").revision == "refs/convert/parquet"


@pytest.mark.parametrize(
    ("path", "reason"),
    [
        ("hf://cais/mmlu", "names no revision"),
        ("hf://cais/mmlu:all/test", "names no revision"),
        ("hf://cais/mmlu@c30699e", "is not a dataset on the Hub"),
        ("hf://cais/mmlu@c30699e:all", "is not a dataset on the Hub"),
        ("hf://mmlu@c30699e:all/test", "is not a dataset on the Hub"),
        ("hf://cais/mmlu@:all/test", "is not a dataset on the Hub"),
        ("hf://a/b/c@r:all/test", "is not a dataset on the Hub"),
    ],
)
def test_another_form_is_refused_with_the_right_one(path: str, reason: str) -> None:
    with pytest.raises(DatasetError) as caught:
        load(path)
    (fault,) = caught.value.faults
    assert reason in fault.message
    assert fault.fix == "write hf://owner/name@revision:config/split"


def test_without_the_extra_the_message_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "huggingface_hub", None)
    with pytest.raises(DependencyError, match=r"pip install 'gradetrail\[hf\]'"):
        load("hf://cais/mmlu@c30699e:all/test")


def test_the_card_says_which_files_a_split_has() -> None:
    card = """---
license: mit
configs:
- config_name: other
  data_files:
  - {split: test, path: other/*}
- config_name: all
  data_files:
  - split: train
    path: all/train-*
  - split: test
    path: [all/test-*, all/more.parquet]
---
# MMLU
"""
    assert data_files(card, MMLU) == ("all/test-*", "all/more.parquet")
    names = ["README.md", "all/more.parquet", "all/test-00000-of-00001.parquet", "all/train-0.parquet"]
    assert choose_files(names, MMLU, data_files(card, MMLU)) == [
        "all/more.parquet",
        "all/test-00000-of-00001.parquet",
    ]


@pytest.mark.parametrize(
    "card", ["", "# no front matter", "---\n[\n---\n", "---\nconfigs: 3\n---\n", "---\nx: 1\n---"]
)
def test_a_card_that_says_nothing_gives_no_pattern(card: str) -> None:
    assert data_files(card, MMLU) == ()


@pytest.mark.parametrize(
    ("config", "split", "chosen"),
    [
        ("all", "test", ["all/test-00000-of-00002.parquet", "all/test-00001-of-00002.parquet"]),
        ("main", "test", ["main/test/0000.parquet"]),
        ("default", "dev", ["data/dev.jsonl.gz"]),
        ("all", "dev", []),
        ("nope", "test", []),
        ("all", "tes", []),
    ],
)
def test_without_a_card_folder_and_name_decide(config: str, split: str, chosen: list[str]) -> None:
    names = [
        "all/test-00001-of-00002.parquet",
        "all/test-00000-of-00002.parquet",
        "all/test-00000-of-00001.jsonl",
        "all/testing-0.parquet",
        "main/test/0000.parquet",
        "data/dev.jsonl.gz",
        "data/dev.txt",
        "README.md",
    ]
    assert choose_files(names, HubDataset("o/n", "r", config, split)) == chosen
