"""Runs SQL that somebody else wrote, in a process of its own that cannot take the machine with it."""

from gradetrail.sql_child.parent import ChildLostError, Limits, SqlChild

__all__ = ["ChildLostError", "Limits", "SqlChild"]
