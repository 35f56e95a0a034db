"""Prints the largest difference of every statistic from its independent reference.

python -m tests.statistics            print them
python -m tests.statistics --write    put them into docs/statistics.md too
"""

import sys

from tests.statistics import page
from tests.statistics.areas import AREAS, line

measured = {}
for area, differences in AREAS.items():
    measured[area] = found = differences()
    print(f"\n{area}")
    for name in found:
        print(f"  {line(name, found)}")
if "--write" in sys.argv[1:]:
    page.write(measured)
