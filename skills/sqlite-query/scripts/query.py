"""Runs one read-only SQL query over rows given as JSON."""

import json
import math
import sqlite3
import sys

MAX_STEPS = 50_000_000
STEPS_PER_CALL = 100_000
MAX_VALUE_BYTES = 50_000
# Below the 64 KiB of stdout that the jail passes on, so that a wide answer is cut at a row and not thrown away.
MAX_ANSWER_BYTES = 45_000
READING = {
    sqlite3.SQLITE_SELECT,
    sqlite3.SQLITE_READ,
    sqlite3.SQLITE_FUNCTION,
    sqlite3.SQLITE_RECURSIVE,
}


class Refusal(Exception):
    """What the caller did wrong: a stable code and a sentence."""

    def __init__(self, code, message):
        super().__init__(message)
        self.code = code


def quoted(name):
    return '"' + name.replace('"', '""') + '"'


def cell(value):
    if isinstance(value, bool):
        return int(value)
    if isinstance(value, (dict, list)):
        return json.dumps(value, ensure_ascii=False)
    if isinstance(value, int) and not -(2**63) <= value < 2**63:
        raise Refusal("bad_rows", f"{value} does not fit into 64 bits")
    return value


def tables_of(text):
    try:
        data = json.loads(text)
        json.dumps(data, ensure_ascii=False).encode("utf-8")
    except (json.JSONDecodeError, UnicodeEncodeError, RecursionError) as error:
        raise Refusal("bad_rows", f"rows is not JSON text: {error}") from error
    if isinstance(data, list):
        data = {"rows": data}
    if not isinstance(data, dict) or not data:
        raise Refusal("bad_rows", "rows must hold an array of objects, or an object of tables")
    for name, rows in data.items():
        good = isinstance(rows, list) and all(isinstance(row, dict) for row in rows)
        if not good:
            raise Refusal("bad_rows", f"the table {name!r} is not an array of objects")
    return data


def load(database, tables):
    """Creates and fills the tables; gives their description."""
    loaded = []
    for name, rows in tables.items():
        columns = list(dict.fromkeys(key for row in rows for key in row))
        if not columns:
            raise Refusal("bad_rows", f"the table {name!r} has no columns: it holds no key at all")
        try:
            database.execute(f"CREATE TABLE {quoted(name)} ({', '.join(map(quoted, columns))})")
        except sqlite3.Error as error:
            raise Refusal("bad_rows", f"the table {name!r}: {error}") from error
        marks = ", ".join("?" * len(columns))
        values = [[cell(row.get(column)) for column in columns] for row in rows]
        database.executemany(f"INSERT INTO {quoted(name)} VALUES ({marks})", values)
        loaded.append({"name": name, "columns": columns, "rows": len(rows)})
    database.commit()
    return loaded


def printable(value):
    if isinstance(value, bytes):
        return value.hex()
    if isinstance(value, float) and not math.isfinite(value):
        return "Infinity" if value > 0 else "-Infinity"
    return value


def guard(database):
    """From here on the database can only be read, for a bounded number of steps."""
    refused = []
    steps = [0]

    def authorize(action, first, second, _database, _trigger):
        if action in READING and second != "load_extension":
            return sqlite3.SQLITE_OK
        refused.append(action)
        return sqlite3.SQLITE_DENY

    def progress():
        steps[0] += STEPS_PER_CALL
        return steps[0] > MAX_STEPS

    # Otherwise zeroblob(1000000000) would be a way to fill the memory.
    database.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, MAX_VALUE_BYTES)
    database.set_authorizer(authorize)
    database.set_progress_handler(progress, STEPS_PER_CALL)
    return refused, steps


def collect(cursor, limit):
    """The first rows, and whether there were more than the limits let through."""
    rows, size = [], 0
    for row in cursor:
        shown = [printable(value) for value in row]
        size += len(json.dumps(shown, ensure_ascii=False).encode("utf-8"))
        if len(rows) == limit or size > MAX_ANSWER_BYTES:
            return rows, True
        rows.append(shown)
    return rows, False


def query(data):
    database = sqlite3.connect(":memory:")
    loaded = load(database, tables_of(data["rows"]))
    refused, steps = guard(database)
    try:
        cursor = database.execute(data["sql"])
        if cursor.description is None:
            raise Refusal("bad_sql", "there is no query in it")
        rows, truncated = collect(cursor, data.get("limit", 100))
    except sqlite3.Error as error:
        if steps[0] > MAX_STEPS:
            raise Refusal("too_long", f"stopped after {MAX_STEPS} steps") from error
        if refused:
            raise Refusal("forbidden", "only reading is allowed: one SELECT") from error
        raise Refusal("bad_sql", str(error)) from error
    except sqlite3.Warning as error:
        raise Refusal("bad_sql", str(error)) from error
    return {
        "columns": [column[0] for column in cursor.description],
        "rows": rows,
        "row_count": len(rows),
        "truncated": truncated,
        "tables": loaded,
    }


def main():
    data = json.load(sys.stdin)
    try:
        result = query(data)
    except Refusal as refusal:
        result = {"error": {"code": refusal.code, "message": str(refusal)}}
    print(json.dumps(result, ensure_ascii=False))
    return 1 if "error" in result else 0


if __name__ == "__main__":
    sys.exit(main())
