"""Rules for declarations and lines of code in all Swift and C files."""
import re

from .sourcetext import split_swift, without_comments
from .tree import Finding, area

WIDEST = 120
LIBRARIES = ("Vitrine", "VitrineImages", "VitrineSimulation", "VitrineServer")
PUBLIC = re.compile(
    r"^\s*(?:@\w+(?:\([^)]*\))?\s+)*(?:(?:final|indirect|static|class|nonisolated|mutating|consuming|borrowing|override|"
    r"required|convenience|package\(set\)|private\(set\)|internal\(set\))\s+)*(?:public|open)\s+(?!import\b|extension\b)"
    r"(?:(?:final|indirect|static|nonisolated|mutating|consuming|borrowing|override|required|convenience|weak|"
    r"package\(set\)|private\(set\)|internal\(set\))\s+)*"
    r"(?:(?:struct|class|enum|protocol|actor|typealias|func|let|var|associatedtype|macro)\s+(?P<name>`?[\w]+`?|\S+?(?=[(<\s]))|"
    r"(?P<special>init|subscript)\b)")
OPENS = re.compile(r"\b(?P<access>public|open)\b.*\b(?P<kind>enum|protocol|extension)\s+(?P<name>\w+)[^{]*\{?\s*$")
INNER = re.compile(
    r"^\s*(?:@\w+(?:\([^)]*\))?\s+)*(?:(?:static|mutating|indirect)\s+)*(?P<kind>case|func|var|init|subscript|associatedtype)\b\s*"
    r"(?P<name>`?\w+`?)?")
ATTRIBUTE = re.compile(r"^\s*(?:@|#if|#else|#elseif|#endif)")
# Members that only conform to a protocol of the standard library, which documents them.
WITNESSES = {"==", "<", "hash", "description", "debugDescription", "next", "makeIterator", "Element", "AsyncIterator", "Iterator"}


def is_documented(lines, index):
    """Whether a doc comment ends above a line, behind attributes and conditions."""
    index -= 1
    while index >= 0 and ATTRIBUTE.match(lines[index]):
        index -= 1
    return index >= 0 and lines[index].lstrip().startswith(("///", "*/"))


def public_declarations(text):
    """Line index and name of each public declaration: with the word, or as a case or a requirement of a public type."""
    code = split_swift(text)[0].splitlines()
    inside = []  # Depth of braces at which each public enum, protocol or extension begins, and its kind.
    depth = 0
    for index, line in enumerate(code):
        while inside and depth <= inside[-1][0]:
            inside.pop()
        match = PUBLIC.match(line)
        if match:
            yield index, (match["name"] or match["special"]).strip("`")
        elif inside and depth == inside[-1][0] + 1:
            inner = INNER.match(line)
            kind = inside[-1][1]
            if inner and ((kind == "enum" and inner["kind"] == "case") or (kind == "protocol" and inner["kind"] != "case")):
                yield index, (inner["name"] or inner["kind"]).strip("`")
        opens = OPENS.search(line)
        if opens:
            inside.append((depth, opens["kind"]))
        depth += line.count("{") - line.count("}")


def check_documented(tree):
    """Each public symbol of a library has a doc comment."""
    for library in LIBRARIES:
        for name in tree.under(f"Sources/{library}"):
            text = tree.read(name)
            lines = text.splitlines()
            for index, symbol in public_declarations(text):
                if symbol not in WITNESSES and not is_documented(lines, index):
                    yield Finding(
                        name, index + 1, "undocumented", f"{symbol} has no doc comment",
                        "write a summary, units, errors, cost and thread safety", f"Sources/{library}")


def check_width(tree):
    """Lines of code, strings included, fit into the width."""
    for name in tree.under("Sources", "Tests", "Fuzz", "Benchmarks", ending=(".swift", ".c", ".h")):
        text = tree.read(name)
        if max(map(len, text.splitlines()), default=0) <= WIDEST:
            continue
        for number, line in enumerate(without_comments(text).splitlines(), 1):
            if len(line.rstrip()) > WIDEST:
                yield Finding(
                    name, number, "width", f"{len(line.rstrip())} columns, {WIDEST} are allowed", "break the line", area(name))


CHECKS = [check_documented, check_width]
