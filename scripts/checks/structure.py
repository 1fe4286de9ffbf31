"""Rules for types: the number of their stored properties and of their files, promises to the compiler, and tests of parts."""
import re

from .declarations import stored, types
from .sourcetext import split_swift
from .tree import Finding, area, line_of

ENGINE = "Sources/Vitrine"
MOST_PROPERTIES = 12
MOST_PARAMETERS = 10
MOST_FILES = 3
# Values whose fields are those of a format, or choices and numbers that a user sees. No code keeps them right together.
VALUES = {
    "CheckpointHeader": "fields of a format", "RecordHeader": "fields of a format", "StoreIdentity": "fields of a format",
    "StoreOptions": "options", "StoreStatistics": "statistics", "EntryInfo": "the description of an entry"}
# Parts that compose others, and change nothing of their own. They have a limit of their own.
PARTS = {"StoreContext": 16, "Maintainer": 16, "Putter": 16, "Closer": 16}
UNCHECKED = re.compile(r"@unchecked\s+Sendable\b")
INITIALIZER = re.compile(r"\binit[?!]?\s*(?:<[^>]*>)?\s*\(")
COMMENT = re.compile(r"^\s*//+ ?")
INVARIANT = re.compile(r"(?:^|[.)] )Invariants?: ", re.MULTILINE)
# A path from a store's core to the state that its parts share, and the state behind a lock.
PROBE = re.compile(r"\bcore\s*(?:[?!]?\s*\.\s*\w+)*?[?!]?\s*\.\s*context\b|\bheld\s*\.\s*state\b")
# Tests of the locks themselves, and sources that the compiler must reject.
LOCK_TESTS = ("LockTokenTests", "MustNotCompile")


def check_properties(tree):
    """A class, an actor or a struct of the engine has few stored properties."""
    for name in tree.under(ENGINE):
        text = tree.read(name)
        for one in types(text):
            if one.kind not in ("class", "actor", "struct") or one.name in VALUES:
                continue
            count, mutable = stored(text, one)
            most = MOST_PROPERTIES if mutable else PARTS.get(one.name, MOST_PROPERTIES)
            if count > most:
                yield Finding(
                    name, line_of(split_swift(text)[0], one.offset), "properties",
                    f"{one.name} has {count} stored properties, {most} are allowed", "group those that change together", one.name)


def check_initializers(tree):
    """An initializer of the engine has few parameters. Parts that use many others take them by groups."""
    for name in tree.under(ENGINE):
        text = tree.read(name)
        code = split_swift(text)[0]
        for match in INITIALIZER.finditer(code):
            around = [one for one in types(text) if one.start <= match.start() < one.end]
            if re.search(r"[.\w]$", code[:match.start()]) or (around and around[-1].name in VALUES):
                continue
            depth, count = 0, 0
            for character in code[match.end() - 1:]:
                depth += {"(": 1, "[": 1, "{": 1, ")": -1, "]": -1, "}": -1}.get(character, 0)
                count += character == ":" and depth == 1
                if depth == 0:
                    break
            if count > MOST_PARAMETERS:
                yield Finding(
                    name, line_of(code, match.start()), "initializers",
                    f"an initializer has {count} parameters, {MOST_PARAMETERS} are allowed", "pass those that belong together as one",
                    around[-1].name if around else "")


def check_spread(tree):
    """A type with state is declared and extended in few files. The public types have files by topic."""
    files, states = {}, {}
    for name in tree.under(ENGINE):
        text = tree.read(name)
        for one in types(text):
            files.setdefault(one.name, set()).add(name)
            if one.kind in ("class", "actor", "struct") and stored(text, one)[1] and not name.startswith(f"{ENGINE}/API/"):
                states[one.name] = name, line_of(split_swift(text)[0], one.offset)
    for one, (name, line) in states.items():
        if len(files[one]) > MOST_FILES:
            others = ", ".join(sorted(file.split("/")[-1] for file in files[one] - {name}))
            yield Finding(
                name, line, "spread", f"{one} has state, and lies in {len(files[one])} files, {MOST_FILES} are allowed ({others})",
                "move members into one of them, or into a type of their own", one)


def comment_above(lines, index):
    """The comment that ends above a line, behind attributes."""
    index -= 1
    while index >= 0 and lines[index].lstrip().startswith("@"):
        index -= 1
    end = index
    while index >= 0 and COMMENT.match(lines[index]):
        index -= 1
    return "\n".join(COMMENT.sub("", line) for line in lines[index + 1:end + 1])


def check_unchecked(tree):
    """A type that the compiler does not check for races has a comment with the invariant that makes it safe."""
    for name in tree.under("Sources"):
        code, lines = split_swift(tree.read(name))[0], tree.read(name).splitlines()
        for match in UNCHECKED.finditer(code):
            # The declaration may begin above the line of the promise.
            start = max((found.end() for found in re.finditer(r"[{};]|\n[ \t]*\n", code[:match.start()])), default=0)
            first = re.compile(r"\S").search(code, start)
            declared = line_of(code, first.start()) if first else 1
            if not INVARIANT.search(comment_above(lines, declared - 1)):
                of = re.search(r"\b(?:class|struct|enum|extension)\s+(\w[\w.]*)", code[start:match.start()])
                yield Finding(
                    name, line_of(code, match.start()), "unchecked",
                    f"{of[1] if of else 'the type'} is @unchecked Sendable, and no comment says 'Invariant:'",
                    "state above it which lock or owner makes it safe", of[1] if of else "")


def check_probes(tree):
    """Tests reach a store through its interface and its probe."""
    for name in tree.under("Tests"):
        if any(part.startswith(LOCK_TESTS) for part in name.split("/")):
            continue
        code = split_swift(tree.read(name))[0]
        for match in PROBE.finditer(code):
            found = re.sub(r"\s+", "", match[0])
            yield Finding(name, line_of(code, match.start()), "probes", f"'{found}' in a test", "use the store's probe", area(name))


CHECKS = [check_properties, check_initializers, check_spread, check_unchecked, check_probes]
