import inspect

import pytest

import gradetrail
from gradetrail import errors

ERRORS = {
    name
    for name, value in inspect.getmembers(errors, inspect.isclass)
    if issubclass(value, errors.GradetrailError)
}


def test_public_names_are_sorted_and_about_ten() -> None:
    assert list(gradetrail.__all__) == sorted(gradetrail.__all__)
    assert 8 <= len(set(gradetrail.__all__) - ERRORS) <= 20


def test_every_public_name_exists_and_says_what_it_is() -> None:
    for name in gradetrail.__all__:
        assert inspect.getdoc(getattr(gradetrail, name)), name


def test_nothing_else_is_public() -> None:
    visible = {
        name
        for name, value in vars(gradetrail).items()
        if not name.startswith("_")
        and not inspect.ismodule(value)
        and name not in ("annotations", "TYPE_CHECKING")
    }
    assert visible <= set(gradetrail.__all__)
    assert set(gradetrail.__all__) <= set(dir(gradetrail))


def test_every_error_that_leaves_a_call_can_be_caught_by_its_public_name(tmp_path) -> None:
    assert set(gradetrail.__all__) >= ERRORS
    with pytest.raises(gradetrail.SpecError, match="no such file"):
        gradetrail.load_spec(tmp_path / "none.yaml")
    with pytest.raises(gradetrail.StoreError), gradetrail.Warehouse(tmp_path / "none"):
        pass
