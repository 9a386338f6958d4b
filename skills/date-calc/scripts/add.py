"""Adds years to minutes to a moment."""

import sys
from datetime import UTC, timedelta

from moments import add_months, answer, moment_of, settle, zone_of


def calculate(data):
    notes = []
    zone = zone_of(data.get("zone", "UTC"))
    moment = moment_of(data["start"], zone, notes)
    months = data.get("years", 0) * 12 + data.get("months", 0)
    days = data.get("weeks", 0) * 7 + data.get("days", 0)
    if months or days:
        # The calendar moves the wall clock, whatever the offset is on that day.
        wall = add_months(moment.replace(tzinfo=None, fold=0), months) + timedelta(days=days)
        moment = settle(wall.replace(tzinfo=zone), notes)
    exact = timedelta(hours=data.get("hours", 0), minutes=data.get("minutes", 0))
    utc = moment.astimezone(UTC) + exact
    moment = utc.astimezone(zone)
    return {
        "result": moment.isoformat(),
        "utc": utc.replace(tzinfo=None).isoformat() + "Z",
        "weekday": moment.strftime("%A"),
        "iso_week": "{0}-W{1:02}".format(*moment.isocalendar()),
        "day_of_year": moment.timetuple().tm_yday,
        "notes": notes,
    }


if __name__ == "__main__":
    sys.exit(answer(calculate))
