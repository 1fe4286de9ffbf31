"""Rules for declarations and lines of code in all Swift and C files."""
import re

from .sourcetext import split_swift, without_comments
from .tree import Finding, area

WIDEST = 120
LIBRARIES = ("Vitrine", "VitrineFoundation", "Adapters", "VitrineImages", "VitrineSimulation", "VitrineServer", "VitrineClient")
PUBLIC = re.compile(
    r"^\s*(?:@\w+(?:\([^)]*\))?\s+)*(?:(?:final|indirect|static|class|nonisolated|mutating|consuming|borrowing|override|"
    r"required|convenience|package\(set\)|private\(set\)|internal\(set\))\s+)*(?:public|open)\s+(?!import\b|extension\b)"
    r"(?:(?:final|indirect|static|nonisolated|mutating|consuming|borrowing|override|required|convenience|weak|"
    r"package\(set\)|private\(set\)|internal\(set\))\s+)*"
    r"(?:(?:struct|class|enum|protocol|actor|typealias|func|let|var|associatedtype|macro)\s+(?P<name>`?[\w]+`?|\S+?(?=[(<\s]))|"
    r"(?P<special>init|subscript)\b)")
OPENS = re.compile(r"\b(?P<access>public|open)\b.*\b(?P<kind>enum|protocol|extension)\s+(?P<name>\w+)[^{]*\{?\s*$")
INNER = re.compile(
    r"^\s*(?:@\w+(?:\([^)]*\))?\s+)*(?:(?:static|class|final|mutating|nonmutating|nonisolated|consuming|borrowing|override|indirect|"
    r"required|convenience|lazy|weak|unowned|(?:package|private|fileprivate|internal)\(set\))\s+)*"
    r"(?P<kind>case|func|var|let|init|subscript|associatedtype|typealias|struct|class|enum|actor)\b\s*"
    r"(?P<name>`?\w+`?|[^\s\w(]+(?=\s*[(<]))?")
# Members without a word for their access that belong to the interface of a public type.
INTERFACE = {
    "enum": {"case"}, "protocol": {"func", "var", "init", "subscript", "associatedtype"},
    "extension": {"func", "var", "let", "init", "subscript", "typealias", "struct", "class", "enum", "actor"}}
ATTRIBUTE = re.compile(r"^\s*(?:@|#if|#else|#elseif|#endif)")
# Members that only conform to a protocol of the standard library, which documents them.
WITNESSES = {"==", "<", "hash", "description", "debugDescription", "next", "makeIterator", "Element", "AsyncIterator", "Iterator"}


def is_documented(lines, index):
    """Whether a doc comment ends above a line, behind attributes and conditions."""
    index -= 1
    while index >= 0 and ATTRIBUTE.match(lines[index]):
        index -= 1
    if index >= 0 and lines[index].rstrip().endswith("*/"):
        while index > 0 and "/*" not in lines[index]:
            index -= 1
        return lines[index].lstrip().startswith("/**")
    while index >= 0 and lines[index].lstrip().startswith("///"):
        if lines[index].lstrip(" /"):
            return True
        index -= 1
    return False


def public_declarations(text):
    """Line index and name of each public declaration: with the word, or as a case or a requirement of a public type."""
    code = split_swift(text)[0].splitlines()
    inside = []  # Of each public enum, protocol or extension: the depth of braces around it, its kind, whether its brace was seen.
    depth = 0
    for index, line in enumerate(code):
        while inside and depth <= inside[-1][0] and inside[-1][2]:
            inside.pop()
        match = PUBLIC.match(line)
        if match:
            yield index, (match["name"] or match["special"]).strip("`")
        elif inside and depth == inside[-1][0] + 1:
            inner = INNER.match(line)
            if inner and inner["kind"] in INTERFACE[inside[-1][1]]:
                yield index, (inner["name"] or inner["kind"]).strip("`")
                if inner["kind"] == "enum":
                    inside.append([depth, "enum", False])
        opens = OPENS.search(line)
        if opens:
            inside.append([depth, opens["kind"], False])
        if inside and "{" in line:
            inside[-1][2] = True
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
