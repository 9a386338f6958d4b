"""Groups the rows of a CSV text by one column and totals another."""

import csv
import decimal
import io
import json
import re
import sys
from decimal import Decimal
from pathlib import Path

SIX_PLACES = Decimal("0.000001")
# Below the 64 KiB of stdout that the jail passes on; the report has all groups.
MAX_PRINTED_GROUPS = 200
NUMBER = re.compile(r"[+-]?(?:\d+(?:\.\d*)?|\.\d+)\Z", re.ASCII)
GROUPED = re.compile(r"[+-]?\d{1,3}(?:\0\d{3})+(?:\.\d*)?\Z", re.ASCII)


class Refusal(Exception):
    """What the caller did wrong: a stable code and a sentence."""

    def __init__(self, code, message):
        super().__init__(message)
        self.code = code


def parse_number(cell, decimal_mark):
    """The number in a cell, or None. `1,234.50` is one; `1,23` is none, it may be a mistake."""
    # NUL stands for "groups thousands": no input can hold one, the jail refuses control characters.
    marks = {".": "\0", ",": "."} if decimal_mark == "," else {",": "\0"}
    marks |= dict.fromkeys(" \u00a0\u202f", "\0")
    text = cell.strip().translate(str.maketrans(marks))
    if GROUPED.match(text):
        text = text.replace("\0", "")
    if not NUMBER.match(text):
        return None
    return Decimal(text)


def plain(number):
    """A decimal as people write it: no exponent, no trailing zeros, no minus zero."""
    text = f"{number:f}"
    if "." in text:
        text = text.rstrip("0").rstrip(".")
    return "0" if text in ("-0", "") else text


def read_rows(data):
    delimiter, mark = data.get("delimiter", ","), data.get("decimal", ".")
    if delimiter == mark and '"' not in data["csv"]:
        raise Refusal("bad_options", "delimiter and decimal are the same character, and no cell is quoted")
    reader = csv.reader(io.StringIO(data["csv"].lstrip("\ufeff")), delimiter=delimiter, strict=True)
    try:
        rows = [(reader.line_num, row) for row in reader if row]
    except csv.Error as error:
        raise Refusal("bad_row", f"line {reader.line_num}: {error}") from error
    if len(rows) < 2:
        raise Refusal("no_rows", "there is no row below the header")
    header = [name.strip() for name in rows[0][1]]
    for name in header:
        if header.count(name) > 1:
            raise Refusal("duplicate_column", f"the header names the column {name!r} twice")
    for key in ("group_by", "value"):
        if data[key] not in header:
            known = ", ".join(repr(name) for name in header)
            raise Refusal("unknown_column", f"{key}: there is no column {data[key]!r}; there are {known}")
    return header, rows[1:], mark


def aggregate(data):
    header, rows, mark = read_rows(data)
    group_at, value_at = header.index(data["group_by"]), header.index(data["value"])
    groups, skipped = {}, []
    for line, row in rows:
        if len(row) != len(header):
            raise Refusal("bad_row", f"line {line}: {len(row)} cells, the header has {len(header)}")
        number = parse_number(row[value_at], mark)
        if number is None:
            if not data.get("skip_bad_rows", False):
                raise Refusal("bad_number", f"line {line}: {row[value_at]!r} is not a number")
            skipped.append(line)
            continue
        groups.setdefault(row[group_at].strip(), []).append(number)
    everything = [number for numbers in groups.values() for number in numbers]
    total = sum(everything, Decimal(0))
    listed = sorted(groups.items(), key=lambda item: (-sum(item[1]), item[0]))
    return {
        "groups": [summary(name, numbers, total) for name, numbers in listed],
        "total": {"count": len(everything), "sum": plain(total)},
        "skipped": skipped,
    }


def summary(name, numbers, total):
    group_sum = sum(numbers, Decimal(0))
    share = None
    if total > 0:
        share = plain((group_sum * 100 / total).quantize(Decimal("0.01")))
    return {
        "name": name,
        "count": len(numbers),
        "sum": plain(group_sum),
        "mean": plain((group_sum / len(numbers)).quantize(SIX_PLACES)),
        "min": plain(min(numbers)),
        "max": plain(max(numbers)),
        "share_percent": share,
    }


def cell(text):
    """A Markdown table's cell: the text of the CSV must not end the cell or the row, or be taken for markup."""
    return re.sub(r"([\\`*_\[\]<>|#])", r"\\\1", " ".join(text.split()))


def write_report(result, data):
    lines = [
        f"# {cell(data['value'])} by {cell(data['group_by'])}",
        "",
        f"| {cell(data['group_by'])} | rows | sum | mean | min | max | share |",
        "|---|---:|---:|---:|---:|---:|---:|",
    ]
    for group in result["groups"]:
        share = "" if group["share_percent"] is None else group["share_percent"] + " %"
        cells = [cell(group["name"]), str(group["count"])]
        cells += [group["sum"], group["mean"], group["min"], group["max"], share]
        lines.append("| " + " | ".join(cells) + " |")
    lines.append(f"| **total** | {result['total']['count']} | **{result['total']['sum']}** | | | | |")
    if result["skipped"]:
        lines += ["", "Left out for want of a number: line " + ", ".join(map(str, result["skipped"])) + "."]
    folder = Path("out")
    folder.mkdir(exist_ok=True)
    (folder / "report.md").write_text("\n".join(lines) + "\n", encoding="utf-8")


def main():
    data = json.load(sys.stdin)
    # A cell is at most as long as the input: 4000 digits and a sum of them stay exact.
    decimal.getcontext().prec = 5000
    try:
        result = aggregate(data)
    except Refusal as refusal:
        print(json.dumps({"error": {"code": refusal.code, "message": str(refusal)}}, ensure_ascii=False))
        return 1
    write_report(result, data)
    result["group_count"] = len(result["groups"])
    result["groups"] = result["groups"][:MAX_PRINTED_GROUPS]
    result["report"] = "/workdir/out/report.md"
    print(json.dumps(result, ensure_ascii=False))
    return 0


if __name__ == "__main__":
    sys.exit(main())
