"""Draws a chart from CSV and saves it as a PNG."""

import csv
import io
import json
import math
import sys
from pathlib import Path

BUILD = "skilljail runtime build --requirements data --out DIR"
DPI = 100
MAX_SERIES = 10


class Refusal(Exception):
    """What went wrong: a stable code and a sentence."""

    def __init__(self, code, message):
        super().__init__(message)
        self.code = code


def pyplot():
    try:
        import matplotlib
    except ImportError as error:
        message = f"{error}; build a Python that has it: {BUILD}"
        raise Refusal("missing_package", message) from error
    # No display in a jail: draw into memory.
    matplotlib.use("Agg")
    # A title such as "$5 to $9" is text, not a formula.
    matplotlib.rcParams["text.parse_math"] = False
    import matplotlib.pyplot

    return matplotlib.pyplot


def number(cell, line, name):
    """A cell's number; nan where it is empty, which matplotlib draws as a gap."""
    if not cell.strip():
        return math.nan
    try:
        value = float(cell)
    except ValueError:
        value = math.inf
    if not math.isfinite(value):
        raise Refusal("bad_csv", f"line {line}, column {name!r}: {cell!r} is not a number")
    return value


def read_columns(text):
    """The header and, per column, its cells with their lines."""
    reader = csv.reader(io.StringIO(text), strict=True)
    try:
        rows = [(reader.line_num, row) for row in reader if row]
    except csv.Error as error:
        raise Refusal("bad_csv", f"line {reader.line_num}: {error}") from error
    if len(rows) < 2:
        raise Refusal("bad_csv", "there is no row below the header")
    header = [name.strip() for name in rows[0][1]]
    for line, row in rows[1:]:
        if len(row) != len(header):
            raise Refusal("bad_csv", f"line {line}: {len(row)} cells, the header has {len(header)}")
    columns = [[(line, row[at]) for line, row in rows[1:]] for at in range(len(header))]
    return header, columns


def x_values(name, cells):
    """Numbers if all of them are, labels otherwise."""
    try:
        values = [number(cell, line, name) for line, cell in cells]
    except Refusal:
        return [cell.strip() for _, cell in cells]
    if any(math.isnan(value) for value in values):
        return [cell.strip() for _, cell in cells]
    return values


def draw(data, header, columns):
    plt = pyplot()
    kind = data.get("kind", "line")
    size = (data.get("width", 800) / DPI, data.get("height", 500) / DPI)
    figure, axes = plt.subplots(figsize=size, dpi=DPI, layout="constrained")
    first = 0 if kind == "hist" else 1
    series = {}
    for name, cells in zip(header[first:], columns[first:], strict=True):
        series[name] = [number(cell, line, name) for line, cell in cells]
    if not series:
        raise Refusal("bad_csv", "there is no column of numbers beside the first")
    if len(series) != len(header) - first:
        raise Refusal("bad_csv", "the header names one column twice")
    if len(series) > MAX_SERIES:
        raise Refusal("too_many_series", f"{len(series)} series; at most {MAX_SERIES} can be told apart")
    for name, values in series.items():
        if all(math.isnan(value) for value in values):
            raise Refusal("bad_csv", f"the column {name!r} holds no number")
    if kind == "hist":
        draw_histogram(axes, series)
    else:
        draw_against_x(axes, kind, x_values(header[0], columns[0]), series)
        axes.set_xlabel(data.get("x_label", header[0]))
    if "x_label" in data:
        axes.set_xlabel(data["x_label"])
    axes.set_ylabel(data.get("y_label", ""))
    axes.set_title(data.get("title", ""))
    if len(series) > 1:
        axes.legend()
    return figure, kind, series


def draw_histogram(axes, series):
    for name, values in series.items():
        axes.hist([value for value in values if not math.isnan(value)], bins="auto", alpha=0.6, label=name)


def draw_against_x(axes, kind, x, series):
    if kind == "bar":
        width = 0.8 / len(series)
        for at, (name, values) in enumerate(series.items()):
            offset = (at - (len(series) - 1) / 2) * width
            axes.bar([i + offset for i in range(len(x))], values, width, label=name)
        axes.set_xticks(range(len(x)), [f"{v:g}" if isinstance(v, float) else v for v in x])
        return
    for name, values in series.items():
        if kind == "scatter":
            axes.scatter(x, values, label=name)
        else:
            axes.plot(x, values, marker="o", label=name)


def save(figure):
    folder = Path("out")
    folder.mkdir(exist_ok=True)
    target = folder / "plot.png"
    figure.savefig(target, dpi=DPI, metadata={"Software": None})
    # What was written, not what was asked for: the size stands in the PNG's header.
    head = target.read_bytes()[:24]
    return int.from_bytes(head[16:20], "big"), int.from_bytes(head[20:24], "big")


def plot(data):
    header, columns = read_columns(data["csv"])
    figure, kind, series = draw(data, header, columns)
    width, height = save(figure)
    listed = []
    for name, values in series.items():
        numbers = [value for value in values if not math.isnan(value)]
        listed.append({"name": name, "points": len(numbers), "min": min(numbers), "max": max(numbers)})
    return {"file": "/workdir/out/plot.png", "width": width, "height": height, "kind": kind, "series": listed}


def main():
    data = json.load(sys.stdin)
    try:
        result = plot(data)
    except Refusal as refusal:
        result = {"error": {"code": refusal.code, "message": str(refusal)}}
    print(json.dumps(result, ensure_ascii=False))
    return 1 if "error" in result else 0


if __name__ == "__main__":
    sys.exit(main())
