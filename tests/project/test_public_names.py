import inspect

import gradetrail


def test_public_names_are_sorted_and_about_ten() -> None:
    assert list(gradetrail.__all__) == sorted(gradetrail.__all__)
    assert 8 <= len(gradetrail.__all__) <= 20


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
