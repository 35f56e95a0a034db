"""Lets `python -m gradetrail.cli` stand in for the command."""

from gradetrail.cli import main

if __name__ == "__main__":
    main()
