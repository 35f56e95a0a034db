import gzip
import json
from pathlib import Path

from gradetrail.dataset import load_samples
from gradetrail.spec import load_spec

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "specs/gsm8k"


def rows(name: str) -> list[dict[str, str]]:
    with gzip.open(FOLDER / name, "rt", encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


def test_each_model_has_one_answer_to_each_question_under_the_id_that_loading_gives_it() -> None:
    spec = load_spec(FOLDER / "gsm8k.yaml")
    ids = load_samples(spec).selected.column("sample_id").to_pylist()
    assert len(ids) == 1319
    answers = rows("answers.jsonl.gz")
    assert len(answers) == 5276
    for model in spec.models:
        assert [row["sample_id"] for row in answers if row["model"] == model.name] == ids


def test_the_authors_find_286_515_458_and_742_answers_right() -> None:
    right = json.loads((ROOT / "tests/data/gsm8k/is_correct.json").read_text(encoding="utf-8"))
    assert {model: digits.count("1") for model, digits in right.items()} == {
        "6b_finetuning": 286,
        "6b_verification": 515,
        "175b_finetuning": 458,
        "175b_verification": 742,
    }
    assert {len(digits) for digits in right.values()} == {1319}


def test_the_recorded_data_stays_under_two_megabytes() -> None:
    assert sum(path.stat().st_size for path in FOLDER.iterdir()) < 2_000_000
