"""Counts the words, lines, sentences and characters of a text."""

import json
import re
import sys
from collections import Counter

WORDS_PER_MINUTE = 230

# Letters and digits of any script, joined by apostrophes or hyphens inside the word.
WORD = re.compile(r"[^\W_]+(?:['\u2019\u2010-][^\W_]+)*")
SENTENCE_END = re.compile(r"[.!?\u2026]+[\"'\u201d\u2019)\]]*(?:\s|$)")


def count(text, top, min_length, case_sensitive):
    words = WORD.findall(text)
    keys = words if case_sensitive else [word.casefold() for word in words]
    frequency = Counter(keys)
    listed = [(word, n) for word, n in frequency.items() if len(word) >= min_length]
    listed.sort(key=lambda pair: (-pair[1], pair[0]))
    # A text that does not end in a full stop still ends in a sentence.
    ends = list(SENTENCE_END.finditer(text))
    rest = text[ends[-1].end() :] if ends else text
    sentences = len(ends) + (1 if WORD.search(rest) else 0)
    return {
        "characters": len(text),
        "characters_without_spaces": sum(not c.isspace() for c in text),
        "bytes": len(text.encode("utf-8")),
        "lines": len(text.splitlines()),
        "sentences": sentences,
        "words": len(words),
        "unique_words": len(frequency),
        "reading_seconds": round(len(words) * 60 / WORDS_PER_MINUTE),
        "top": [{"word": word, "count": n} for word, n in listed[:top]],
    }


def main():
    data = json.load(sys.stdin)
    result = count(
        data["text"],
        data.get("top", 10),
        data.get("min_length", 1),
        data.get("case_sensitive", False),
    )
    print(json.dumps(result, ensure_ascii=False))
    return 0


if __name__ == "__main__":
    sys.exit(main())
