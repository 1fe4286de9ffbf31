"""Words that the style of this project avoids, counted by area in comments, documents, explanations of planted mistakes, and
names and texts of tests."""
import re

from .documents import FENCE
from .sourcetext import WORDS, lines_of, pieces, split_hashes, split_swift
from .tree import Finding, area, line_of

# The pattern of a rule, how often 10,000 words may match it, and the remedy.
WORD_RULES = {
    "who": (re.compile(r"\b(?:who|whoever|whom)\b", re.IGNORECASE), 2, "name the caller, the thread or the reader"),
    "nobody": (
        re.compile(r"\b(?:no|some|every|any)body\b|\bno one\b(?! of)", re.IGNORECASE), 1.5, "name the part that acts, or does not"),
    # A question may have the word, a statement may not.
    "what": (re.compile(r"\bwhat(?:ever)?\b(?![^.;:]*\?)", re.IGNORECASE), 2, "begin with the noun that is meant"),
}


FUNCTION = re.compile(r"\bfunc\s+`?([^`(<\n]+)")
CAMEL_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")


def said_by_tests(text):
    """The comments of a file of tests, the words of its functions' names, and its strings of several words, on their lines."""
    parts = []
    for kind, piece in pieces(text):
        if kind == "/":
            parts.append(re.sub(r"`[^`\n]*`", lambda match: " " * len(match[0]), piece))
        elif kind:
            parts.append(f"{piece}. " if " " in piece.strip('" ') else lines_of(piece))
        else:
            parts.append("\n".join(
                "".join(" ".join(CAMEL_WORD.findall(match[1])) + ". " for match in FUNCTION.finditer(line))
                for line in piece.split("\n")))
    return " ".join(parts)


def explanations(text):
    """The explanations in a file of planted mistakes, on their lines: its head, and the text under a name and after
    "redundant:", "trap:" or "hang:". Names, changed lines and catchers are left out."""
    lines, is_code = [], False
    for line in text.split("\n"):
        key = re.match(r"== |(?:file|catch|redundant|trap|hang): |", line)[0]
        if key:
            is_code = key in ("file: ", "catch: ")
        lines.append("" if is_code or key == "== " else line[len(key):])
    return "\n".join(lines)


def prose(tree, name):
    """The text of a file that people read: comments, names and texts of tests, explanations, or a document without its code.
    None for other files."""
    text = tree.read(name)
    if name.startswith("Tests/") and name.endswith(".swift"):
        return said_by_tests(text)
    if name.endswith((".swift", ".c", ".h")):
        comments = split_swift(text)[1]
        return re.sub(r"`[^`\n]*`", lambda match: " " * len(match[0]), comments)
    if name.endswith(".mutants"):
        return re.sub(r"`[^`\n]*`", lambda match: " " * len(match[0]), explanations(text))
    if name.endswith(".md"):
        text = FENCE.sub(lambda match: re.sub(r"[^\n]", " ", match[0]), text)
        return re.sub(r"`[^`]*`", lambda match: re.sub(r"[^\n]", " ", match[0]), text)
    if name.startswith(("scripts/", ".ci/")) and "." not in name.split("/")[-1] or name.endswith(".py") or name == "Makefile":
        return split_hashes(text)[1]
    return None


def joined(text):
    """The text as one line of the same length, with spaces for comment signs: a phrase may span two lines."""
    return re.sub(r"(?m)^[ \t]*(?:///?|\*|#)|\n", lambda match: " " * len(match[0]), text)


def counts(tree):
    """Words by area, and findings by area and rule."""
    words, found = {}, {}
    for name in tree.files:
        text = prose(tree, name)
        if text is None:
            continue
        where, flat = area(name), joined(text)
        words[where] = words.get(where, 0) + len(WORDS.findall(flat))
        for rule, (pattern, _, remedy) in WORD_RULES.items():
            for match in pattern.finditer(flat):
                found.setdefault((rule, where), []).append(
                    Finding(name, line_of(text, match.start()), rule, f"'{match[0]}'", remedy, where))
    return words, found
