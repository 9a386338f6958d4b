"""Describes the columns of a CSV table."""

import io
import json
import sys

# Below the 64 KiB of stdout that the jail passes on.
MAX_COLUMNS = 40
MAX_GROUPS = 50
MAX_PAIRS = 50
BUILD = "skilljail runtime build --requirements data --out DIR"


class Refusal(Exception):
    """What went wrong: a stable code and a sentence."""

    def __init__(self, code, message):
        super().__init__(message)
        self.code = code


def imports():
    try:
        import numpy
        import pandas
    except ImportError as error:
        message = f"{error}; build a Python that has it: {BUILD}"
        raise Refusal("missing_package", message) from error
    return numpy, pandas


def rounded(number):
    """Six significant digits; whole numbers stay whole."""
    value = float(f"{float(number):.6g}")
    return int(value) if value.is_integer() else value


def finite(np, number):
    return rounded(number) if np.isfinite(number) else None


def numeric(np, name, series):
    values = series.dropna().to_numpy(dtype=float)
    q1, median, q3 = np.percentile(values, [25, 50, 75])
    reach = 1.5 * (q3 - q1)
    outliers = np.sort(values[(values < q1 - reach) | (values > q3 + reach)])
    return {
        "name": name,
        "kind": "number",
        "count": len(values),
        "missing": int(series.isna().sum()),
        "mean": finite(np, values.mean()),
        "std": finite(np, values.std(ddof=1)) if len(values) > 1 else None,
        "min": finite(np, values.min()),
        "q1": finite(np, q1),
        "median": finite(np, median),
        "q3": finite(np, q3),
        "max": finite(np, values.max()),
        "outliers": [finite(np, value) for value in outliers[:20]],
    }


def textual(name, series):
    counts = {}
    for value in series.dropna().astype(str):
        counts[value] = counts.get(value, 0) + 1
    common = sorted(counts.items(), key=lambda item: (-item[1], item[0]))[:3]
    return {
        "name": name,
        "kind": "text",
        "count": sum(counts.values()),
        "missing": int(series.isna().sum()),
        "unique": len(counts),
        "most_common": [{"value": value, "count": count} for value, count in common],
    }


def correlations(np, table, names):
    pairs = []
    for i, left in enumerate(names):
        for right in names[i + 1 :]:
            both = table[[left, right]].dropna().to_numpy(dtype=float)
            if len(both) < 3 or not np.isfinite(both).all() or (np.ptp(both, axis=0) == 0).any():
                continue
            r = np.corrcoef(both[:, 0], both[:, 1])[0, 1]
            pairs.append({"columns": [left, right], "r": rounded(r), "rows": len(both)})
    return sorted(pairs, key=lambda pair: -abs(pair["r"]))[:MAX_PAIRS]


def groups(np, table, by, names):
    listed = []
    for value, part in table.groupby(by, sort=True):
        means = {name: finite(np, part[name].mean()) for name in names if name != by}
        listed.append({"value": str(value), "rows": len(part), "means": means})
    return listed[:MAX_GROUPS]


def read_table(pd, data):
    try:
        table = pd.read_csv(io.StringIO(data["csv"]), sep=data.get("delimiter", ","), skipinitialspace=True)
    except (ValueError, pd.errors.ParserError) as error:
        raise Refusal("bad_csv", " ".join(str(error).split())) from error
    if table.empty:
        raise Refusal("bad_csv", "there is no row below the header")
    if len(table.columns) > MAX_COLUMNS:
        raise Refusal("bad_csv", f"{len(table.columns)} columns; at most {MAX_COLUMNS} are described")
    table.columns = [str(name).strip() for name in table.columns]
    return table


def describe(np, pd, data):
    table = read_table(pd, data)
    is_number = pd.api.types.is_numeric_dtype
    is_bool = pd.api.types.is_bool_dtype
    names = [n for n in table.columns if is_number(table[n]) and not is_bool(table[n]) and table[n].notna().any()]
    result = {
        "rows": len(table),
        "columns": [
            numeric(np, name, table[name]) if name in names else textual(name, table[name]) for name in table.columns
        ],
        "correlations": correlations(np, table, names),
    }
    by = data.get("group_by")
    if by is not None:
        if by not in table.columns:
            known = ", ".join(repr(name) for name in table.columns)
            raise Refusal("unknown_column", f"group_by: there is no column {by!r}; there are {known}")
        result["groups"] = groups(np, table, by, names)
    return result


def main():
    try:
        # Before the input: a jail that was started ahead has it behind it.
        np, pd = imports()
        result = describe(np, pd, json.load(sys.stdin))
    except Refusal as refusal:
        result = {"error": {"code": refusal.code, "message": str(refusal)}}
    print(json.dumps(result, ensure_ascii=False))
    return 1 if "error" in result else 0


if __name__ == "__main__":
    sys.exit(main())
