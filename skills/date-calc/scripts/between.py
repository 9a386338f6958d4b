"""Measures the time between two moments."""

import sys
from datetime import UTC

from moments import answer, calendar_span, moment_of, working_days, zone_of


def calculate(data):
    notes = []
    zone = zone_of(data.get("zone", "UTC"))
    start = moment_of(data["start"], zone, notes)
    end = moment_of(data["end"], zone, notes)
    # In UTC: Python subtracts two moments of one zone by their wall clocks.
    exact = end.astimezone(UTC) - start.astimezone(UTC)
    sign = (exact.total_seconds() > 0) - (exact.total_seconds() < 0)
    earlier, later = (start, end) if sign >= 0 else (end, start)
    seconds = exact.total_seconds()
    return {
        "sign": sign,
        "seconds": int(seconds) if seconds.is_integer() else seconds,
        "days": round(seconds / 86400, 2),
        "calendar_days": (end.date() - start.date()).days,
        "working_days": working_days(earlier.date(), later.date()),
        "years_months_days": calendar_span(earlier.replace(tzinfo=None), later.replace(tzinfo=None)),
        "notes": notes,
    }


if __name__ == "__main__":
    sys.exit(answer(calculate))
