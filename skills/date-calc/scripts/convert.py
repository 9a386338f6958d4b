"""Says a moment in other time zones."""

import sys
from datetime import UTC

from moments import Refusal, answer, moment_of, zone_of

MAX_ZONES = 10


def calculate(data):
    notes = []
    moment = moment_of(data["moment"], zone_of(data.get("zone", "UTC")), notes)
    names = [name.strip() for name in data["to"].split(",") if name.strip()]
    if not 1 <= len(names) <= MAX_ZONES:
        raise Refusal("unknown_zone", f"to: name one to {MAX_ZONES} zones, separated by commas")
    times = []
    for name in names:
        local = moment.astimezone(zone_of(name))
        times.append(
            {
                "zone": name,
                "local": local.replace(tzinfo=None).isoformat(),
                "offset": offset(local),
                "abbreviation": local.tzname(),
                "weekday": local.strftime("%A"),
                "dst": bool(local.dst()),
            }
        )
    utc = moment.astimezone(UTC).replace(tzinfo=None)
    return {"utc": utc.isoformat() + "Z", "times": times, "notes": notes}


def offset(local):
    return local.isoformat()[len(local.replace(tzinfo=None).isoformat()) :]


if __name__ == "__main__":
    sys.exit(answer(calculate))
