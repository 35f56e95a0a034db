"""Prints the largest difference of every statistic from its independent reference.

python -m tests.statistics
"""

from tests.statistics.areas import AREAS, line

for area, differences in AREAS.items():
    found = differences()
    print(f"\n{area}")
    for name in found:
        print(f"  {line(name, found)}")
