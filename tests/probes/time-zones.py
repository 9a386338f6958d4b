"""Dates in time zones."""
from datetime import datetime
from zoneinfo import ZoneInfo
moment = datetime(2024, 7, 1, 12, tzinfo=ZoneInfo("Europe/Berlin"))
assert moment.astimezone(ZoneInfo("America/New_York")).hour == 6
print("works")
