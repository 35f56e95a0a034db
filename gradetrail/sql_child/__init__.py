"""Runs SQL that somebody else wrote, in a process of its own that cannot take the machine with it."""

from gradetrail.sql_child.limits import Limits
from gradetrail.sql_child.parent import SqlChild
from gradetrail.sql_child.process import ChildLostError

__all__ = ["ChildLostError", "Limits", "SqlChild"]
