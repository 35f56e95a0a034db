"""Lets `python -m gradetrail` stand in for the command."""

from gradetrail.cli import main

if __name__ == "__main__":
    main()
