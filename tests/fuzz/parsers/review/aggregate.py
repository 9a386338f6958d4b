"""Totals of one column of a CSV text by the values of another."""

import csv
import io
import json
import os
import sys
from collections import defaultdict
from decimal import Decimal


def main():
    request = json.load(sys.stdin)
    totals = defaultdict(Decimal)
    for row in csv.DictReader(io.StringIO(request["csv"])):
        totals[row[request["group"]]] += Decimal(row[request["value"]])
    digits = int(os.environ["ROUNDING_DIGITS"])
    groups = sorted(totals.items())[: request.get("limit", 100)]
    json.dump({name: str(round(total, digits)) for name, total in groups}, sys.stdout)


if __name__ == "__main__":
    main()
