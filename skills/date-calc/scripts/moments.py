"""What the three scripts of this skill share: moments, zones and refusals."""

import json
import sys
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

ZONE_RULE = "zones have IANA names, such as Europe/Berlin"


class Refusal(Exception):
    """What the caller did wrong: a stable code and a sentence."""

    def __init__(self, code, message):
        super().__init__(message)
        self.code = code


def zone_of(name):
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError) as error:
        raise Refusal("unknown_zone", f"there is no time zone {name!r}; {ZONE_RULE}") from error


def settle(moment, notes):
    """A wall-clock time of a zone as a real one, with a note where daylight saving time makes it odd."""
    real = moment.astimezone(UTC).astimezone(moment.tzinfo)
    wall = moment.replace(tzinfo=None)
    if real.replace(tzinfo=None) != wall:
        notes.append(f"{wall.isoformat()} does not exist in {moment.tzinfo}: moved to {real.isoformat()}")
    elif moment.utcoffset() != moment.replace(fold=1).utcoffset():
        notes.append(f"{wall.isoformat()} occurs twice in {moment.tzinfo}: the first is meant")
    return real


def moment_of(text, zone, notes):
    try:
        moment = datetime.fromisoformat(text.strip())
    except ValueError as error:
        raise Refusal("bad_moment", f"{text!r} is not an ISO 8601 date or date and time") from error
    if moment.tzinfo is not None:
        return moment.astimezone(zone)
    return settle(moment.replace(tzinfo=zone), notes)


def calendar_span(start, end):
    """Whole years, months and days from one wall-clock time to a later one."""
    months = (end.year - start.year) * 12 + end.month - start.month
    if add_months(start, months) > end:
        months -= 1
    days = (end - add_months(start, months)).days
    return {"years": months // 12, "months": months % 12, "days": days}


def add_months(moment, months):
    count = moment.year * 12 + moment.month - 1 + months
    year, month = count // 12, count % 12 + 1
    if not 1 <= year <= 9999:
        raise Refusal("out_of_range", f"the year {year} is outside 1 to 9999")
    last = 31
    while True:
        try:
            return moment.replace(year=year, month=month, day=min(moment.day, last))
        except ValueError:
            last -= 1


def working_days(first, last):
    """Mondays to Fridays from first (counted) to last (not counted)."""
    weeks, rest = divmod((last - first).days, 7)
    return weeks * 5 + sum((first + timedelta(days=n)).weekday() < 5 for n in range(rest))


def answer(calculate):
    """Reads the input, prints the answer or the refusal, gives the exit code."""
    data = json.load(sys.stdin)
    try:
        result = calculate(data)
    except Refusal as refusal:
        result = {"error": {"code": refusal.code, "message": str(refusal)}}
    except OverflowError:
        result = {"error": {"code": "out_of_range", "message": "the result is outside the years 1 to 9999"}}
    print(json.dumps(result, ensure_ascii=False))
    return 1 if "error" in result else 0
