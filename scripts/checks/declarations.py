"""Types of Swift files, their stored properties, and everything that the files declare."""
import functools, re
from dataclasses import dataclass

from .sourcetext import split_swift

TYPE = re.compile(
    r"\b(?P<kind>struct|class|enum|actor|protocol|extension)\s+(?!(?:func|let|var|subscript|init)\b)`?(?P<name>\w[\w.]*)`?[^{}]*\{")
BRACE = re.compile(r"[{}]")
STORED = re.compile(
    r"^[ \t]*(?:(?:(?:public|package|internal|fileprivate|private)(?:\(set\))?|final|lazy|weak|dynamic|unowned(?:\(\w+\))?|"
    r"nonisolated(?:\(unsafe\))?|@\w+(?:\((?:[^()\n]|\([^()\n]*\))*\))?)\s+)*"
    r"(?P<kind>let|var)\s+(?P<rest>(?:\([^()]*\)|\[[^\[\]]*\]|[^\n(\[])*)", re.MULTILINE)
NAMED = re.compile(
    r"(?P<modifiers>(?:[\w@]+(?:\([^)\n]*\))?[ \t]+)*)\b(?:func|let|var|typealias|associatedtype|macro|struct|class|enum|actor|"
    r"protocol)\s+`?(?P<name>\w+)")
CASES = re.compile(r"\bcase\s+((?:\([^()]*\)|[^\n(])*)")
GROUP = re.compile(r"\([^()]*\)|\[[^\[\]]*\]|<[^<>]*>")
# Values that change behind a constant: locks with a value, locks that guard other fields, atomics, and memory behind a pointer.
SHARED = re.compile(
    r"\b(?:Guarded|Mutex|Atomic\w*|(?:Commit|Upkeep|Eviction|Level|Raw)Lock|Monitor|Monitored|LockedShards|UnsafeMutable\w*Pointer)\b")


@dataclass(frozen=True)
class Type:
    """A declaration or an extension of a type. `name` begins with the types around it, and `end` is the closing brace."""
    kind: str
    name: str
    offset: int
    start: int
    end: int


def closing(code, start):
    """The offset of the brace that closes the one before the start. The end of the code if there is none."""
    depth = 1
    for match in BRACE.finditer(code, start):
        depth += 1 if match[0] == "{" else -1
        if depth == 0:
            return match.start()
    return len(code)


@functools.lru_cache(maxsize=None)
def types(text):
    """The types that a file declares or extends, the outer before the inner."""
    code = split_swift(text)[0]
    found, around = [], []
    for match in TYPE.finditer(code):
        while around and around[-1].end < match.start():
            around.pop()
        name = ".".join([*(outer.name for outer in around[-1:]), match["name"]])
        around.append(Type(match["kind"], name, match.start(), match.end(), closing(code, match.end())))
        found.append(around[-1])
    return found


def outside_of_members(code, start, end):
    """The code of a type's body without the bodies of its members. Observers of a property are no body."""
    kept, depth, position = [], 0, start
    for match in BRACE.finditer(code, start, end):
        if depth == 0:
            kept.append(code[position:match.start()])
            position = match.end()
        depth += 1 if match[0] == "{" else -1
        if depth == 0:
            kept.append("" if re.match(r"\s*(?:didSet|willSet)\b", code[position:]) else "{}")
            position = match.end()
    return "".join(kept) + code[position:end]


@functools.lru_cache(maxsize=None)
def stored(text, one):
    """The number of a type's stored properties, and of those that can change."""
    count = changing = 0
    for match in STORED.finditer(outside_of_members(split_swift(text)[0], one.start, one.end)):
        if match["kind"] == "var" and re.match(r"[^={]*\{", match["rest"]):
            continue
        rest, names = match["rest"].replace("->", ""), 1
        if tuple := re.match(r"\(([^()]*)\)", rest):
            names = tuple[1].count(",") + 1
        while (shorter := GROUP.sub("", rest)) != rest:
            rest = shorter
        names += len(re.findall(r",\s*`?\w+`?\s*(?=[:=,])", rest))
        count += names
        changing += names if match["kind"] == "var" or SHARED.search(match["rest"]) else 0
    return count, changing


@functools.lru_cache(maxsize=None)
def members_of(text, one):
    """Names of a type's members that other files see."""
    code = outside_of_members(split_swift(text)[0], one.start, one.end)
    return frozenset(match["name"] for match in NAMED.finditer(code) if not re.search(r"private\s", match["modifiers"]))


@functools.lru_cache(maxsize=None)
def names(text):
    """Everything that a file declares at its top level or as a member of a type: no parameters, no local names."""
    code = split_swift(text)[0]
    found = set()
    for start, end in [(0, len(code)), *((one.start, one.end) for one in types(text))]:
        body = outside_of_members(code, start, end)
        found.update(match["name"] for match in NAMED.finditer(body))
        for match in CASES.finditer(body):
            found.update(re.findall(r"(?:^|,)\s*`?(\w+)", GROUP.sub("", match[1])))
    return frozenset(found)
