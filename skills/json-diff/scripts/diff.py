"""Compares two JSON texts by meaning."""

import json
import math
import sys
from collections import Counter

MAX_CHANGES = 200
MAX_DEPTH = 100


class Refusal(Exception):
    """What the caller did wrong: a stable code and a sentence."""

    def __init__(self, code, message):
        super().__init__(message)
        self.code = code


def parse(side, text):
    def unique(pairs):
        keys = Counter(key for key, _ in pairs)
        for key, count in keys.items():
            if count > 1:
                raise Refusal("duplicate_key", f"{side}: the key {key!r} occurs {count} times in one object")
        return dict(pairs)

    def finite(literal):
        number = float(literal)
        if not math.isfinite(number):
            raise Refusal("bad_json", f"{side}: {literal} is too big a number")
        return number

    def no_constant(literal):
        raise Refusal("bad_json", f"{side}: {literal} is not JSON")

    try:
        value = json.loads(text, object_pairs_hook=unique, parse_float=finite, parse_constant=no_constant)
    except json.JSONDecodeError as error:
        where = f"line {error.lineno}, column {error.colno}"
        raise Refusal("bad_json", f"{side}: {error.msg} at {where}") from error
    except RecursionError as error:
        raise Refusal("too_deep", f"{side}: over {MAX_DEPTH} levels") from error
    if depth_exceeds(value, MAX_DEPTH):
        raise Refusal("too_deep", f"{side}: over {MAX_DEPTH} levels")
    try:
        json.dumps(value, ensure_ascii=False).encode("utf-8")
    except UnicodeEncodeError as error:
        raise Refusal("bad_json", f"{side}: half of a surrogate pair") from error
    return value


def depth_exceeds(value, limit):
    level = [value]
    for _ in range(limit + 1):
        below = []
        for item in level:
            if isinstance(item, dict):
                below.extend(item.values())
            elif isinstance(item, list):
                below.extend(item)
        if not below:
            return False
        level = below
    return True


def canonical(value, strict_numbers):
    """A text that is equal exactly where the values are."""
    if isinstance(value, dict):
        inner = (json.dumps(k) + ":" + canonical(value[k], strict_numbers) for k in sorted(value))
        return "{" + ",".join(inner) + "}"
    if isinstance(value, list):
        return "[" + ",".join(canonical(item, strict_numbers) for item in value) + "]"
    if isinstance(value, float) and not strict_numbers and value.is_integer():
        return str(int(value))
    return json.dumps(value)


class Diff:
    def __init__(self, arrays, strict_numbers):
        self.arrays, self.strict = arrays, strict_numbers
        self.changes = []

    def same(self, left, right):
        return canonical(left, self.strict) == canonical(right, self.strict)

    def compare(self, left, right, path):
        if isinstance(left, dict) and isinstance(right, dict):
            self.objects(left, right, path)
        elif isinstance(left, list) and isinstance(right, list):
            (self.bags if self.arrays == "set" else self.lists)(left, right, path)
        elif not self.same(left, right):
            self.changes.append({"op": "change", "path": path, "old": left, "new": right})

    def objects(self, left, right, path):
        for key, value in left.items():
            below = path + "/" + key.replace("~", "~0").replace("/", "~1")
            if key in right:
                self.compare(value, right[key], below)
            else:
                self.changes.append({"op": "remove", "path": below, "old": value})
        for key, value in right.items():
            if key not in left:
                below = path + "/" + key.replace("~", "~0").replace("/", "~1")
                self.changes.append({"op": "add", "path": below, "new": value})

    def lists(self, left, right, path):
        for index in range(max(len(left), len(right))):
            below = f"{path}/{index}"
            if index >= len(right):
                self.changes.append({"op": "remove", "path": below, "old": left[index]})
            elif index >= len(left):
                self.changes.append({"op": "add", "path": below, "new": right[index]})
            else:
                self.compare(left[index], right[index], below)

    def bags(self, left, right, path):
        missing = Counter(canonical(item, self.strict) for item in right)
        for item in left:
            key = canonical(item, self.strict)
            if missing[key] > 0:
                missing[key] -= 1
            else:
                self.changes.append({"op": "remove", "path": path + "/*", "old": item})
        for item in right:
            key = canonical(item, self.strict)
            if missing[key] > 0:
                missing[key] -= 1
                self.changes.append({"op": "add", "path": path + "/*", "new": item})


def main():
    data = json.load(sys.stdin)
    try:
        left, right = parse("left", data["left"]), parse("right", data["right"])
    except Refusal as refusal:
        print(json.dumps({"error": {"code": refusal.code, "message": str(refusal)}}, ensure_ascii=False))
        return 1
    diff = Diff(data.get("arrays", "index"), data.get("strict_numbers", True))
    diff.compare(left, right, "")
    count = Counter(change["op"] for change in diff.changes)
    result = {
        "equal": not diff.changes,
        "added": count["add"],
        "removed": count["remove"],
        "changed": count["change"],
        "changes": diff.changes[:MAX_CHANGES],
        "truncated": len(diff.changes) > MAX_CHANGES,
    }
    print(json.dumps(result, ensure_ascii=False))
    return 0


if __name__ == "__main__":
    sys.exit(main())
