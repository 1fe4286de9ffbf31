"""Rules of size for files and types, promises to the compiler, traits, and tests of parts."""
import re

from .declarations import stored, types
from .engine import conditions
from .sourcetext import split_swift
from .tree import Finding, area, line_of

ENGINE = "Sources/Vitrine"
LONGEST = 400
MOST_PROPERTIES = 12
MOST_PARAMETERS = 10
MOST_FILES = 3
# Values whose fields are those of a format, or choices and numbers that a user sees. No code keeps them right together.
VALUES = {
    "CheckpointHeader": "fields of a format", "RecordHeader": "fields of a format", "StoreIdentity": "fields of a format",
    "ResponseRecord": "fields of a format",
    "MetaFlags": "fields of a request", "StoreOptions": "options", "ServerOptions": "options", "PicturePipeline.Configuration": "options",
    "StoreStatistics": "statistics", "EntryInfo": "the description of an entry", "ReplayReport": "a report",
    "CrashReport.Workload": "a report", "Demonstration.Outcome": "a report"}
# Parts that compose others, and change nothing of their own. They have a limit of their own.
PARTS = {"Putter": 16, "Closer": 16}
# Folders of public types, which have files by topic.
BY_TOPIC = (f"{ENGINE}/API/",)
UNCHECKED = re.compile(r"@unchecked\s+Sendable\b")
INITIALIZER = re.compile(r"\binit[?!]?\s*(?:<[^>]*>)?\s*\(")
COMMENT = re.compile(r"^\s*//+ ?")
# At least three words: a statement, and not the bare heading.
INVARIANT = re.compile(r"(?:^|[.)] )Invariants?: (?=(?:[^\s.]+\s+){2}[^\s.])", re.MULTILINE)
UNSAFE_VARIABLE = re.compile(r"\bnonisolated\(unsafe\)[^=\n]*?\bvar\s+`?(\w+)")
# The locks whose tokens lead to state, and a place that makes one.
LOCK = re.compile(r"\btypealias\s+(\w+)\s*=\s*LevelLock\s*<")
LOCK_TYPE = "LevelLock"
# Uses of a store's core beyond its probe, and of its type. The core of a simulated disk is another type.
CORE = re.compile(r"(?<!\bdisk)\s*[?!]?\s*\.\s*core\b(?!\s*[?!]?\s*\.\s*probe\b)|\bStoreCore\b")
TRAIT = re.compile(r"\.trait\(\s*name:\s*\"(\w+)\"")
MOST_FILES_OF_A_TRAIT = 9
# A path from a store's core to the state that its parts share, and the state behind a lock.
PROBE = re.compile(
    r"\bcore\s*(?:[?!]?\s*\.\s*\w+)*?[?!]?\s*\.\s*context\b|\bheld\s*\.\s*state\b|\b(?:commit|upkeep|eviction|expiry|sync|heads|leftover)Lock\b|"
    r"\bStoreParts\b")
# Tests of the locks themselves, and sources that the compiler must reject.
LOCK_TESTS = ("LockTokenTests", "MustNotCompile")


def check_length(tree):
    """A file is short, because it holds one thing."""
    for name in tree.under("Sources", "Tests"):
        count = len(tree.read(name).splitlines())
        if count > LONGEST:
            yield Finding(
                name, LONGEST + 1, "length", f"{count} lines, {LONGEST} are allowed", "split the file", size=count)


def check_properties(tree):
    """A class, an actor or a struct has few stored properties."""
    for name in tree.under("Sources"):
        text = tree.read(name)
        for one in types(text):
            if one.kind not in ("class", "actor", "struct") or one.name in VALUES:
                continue
            count, mutable = stored(text, one)
            most = MOST_PROPERTIES if mutable else PARTS.get(one.name, MOST_PROPERTIES)
            if count > most:
                yield Finding(
                    name, line_of(split_swift(text)[0], one.offset), "properties",
                    f"{one.name} has {count} stored properties, {most} are allowed", "group those that change together", one.name,
                    count)


def check_initializers(tree):
    """An initializer has few parameters. Parts that use many others take them by groups."""
    for name in tree.under("Sources"):
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
                    around[-1].name if around else "", count)


def check_spread(tree):
    """A type with state is declared and extended in few files of its module."""
    files, states = {}, {}
    for name in tree.under("Sources"):
        text, module = tree.read(name), name.split("/")[1]
        for one in types(text):
            files.setdefault((module, one.name), set()).add(name)
            if one.kind in ("class", "actor", "struct") and stored(text, one)[1] and not name.startswith(BY_TOPIC):
                states[module, one.name] = name, line_of(split_swift(text)[0], one.offset)
    for one, (name, line) in states.items():
        count = len(files[one])
        if count > MOST_FILES:
            others = ", ".join(sorted(file.split("/")[-1] for file in files[one] - {name}))
            yield Finding(
                name, line, "spread", f"{one[1]} has state, and lies in {count} files, {MOST_FILES} are allowed ({others})",
                "move members into one of them, or into a type of their own", one[1], count)


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


def check_unsafe_variables(tree):
    """A variable that the compiler does not check for races has a comment with its invariant, too."""
    for name in tree.under("Sources"):
        code, lines = split_swift(tree.read(name))[0], tree.read(name).splitlines()
        for match in UNSAFE_VARIABLE.finditer(code):
            line = line_of(code, match.start())
            if not INVARIANT.search(comment_above(lines, line - 1)):
                yield Finding(
                    name, line, "unchecked", f"{match[1]} is nonisolated(unsafe), and no comment says 'Invariant:'",
                    "state above it which lock or owner makes it safe", match[1])


def check_locks(tree):
    """Each lock with a token is made in one place. The token of a second lock would pass for that of the first."""
    texts = {name: split_swift(tree.read(name))[0] for name in tree.under(ENGINE)}
    names = {match[1] for code in texts.values() for match in LOCK.finditer(code)}
    made = {}
    for name, code in texts.items():
        for match in re.finditer(rf"\b({'|'.join([*sorted(names), LOCK_TYPE])})\s*(?:<[^<>]*(?:<[^<>]*>)?[^<>]*>\s*)?(?:\.\s*init\s*)?\(", code):
            made.setdefault(match[1], []).append((name, line_of(code, match.start())))
    for lock, places in made.items():
        for name, line in places[0 if lock == LOCK_TYPE else 1:]:
            yield Finding(
                name, line, "locks", f"{lock} is made here too" if lock != LOCK_TYPE else f"{lock} is made without its name",
                "take the token of the store's lock as a parameter", lock)


def check_probes(tree):
    """Tests reach a store through its interface and its probe."""
    for name in tree.under("Tests"):
        if any(part.startswith(LOCK_TESTS) for part in name.split("/")):
            continue
        code = split_swift(tree.read(name))[0]
        for match in PROBE.finditer(code):
            found = re.sub(r"\s+", "", match[0])
            yield Finding(name, line_of(code, match.start()), "probes", f"'{found}' in a test", "use the store's probe", area(name))


def check_core(tree):
    """Tests know no parts of a store's core. One finding for each file, so that its uses may only become fewer."""
    for name in tree.under("Tests"):
        if any(part.startswith(LOCK_TESTS) for part in name.split("/")):
            continue
        code = split_swift(tree.read(name))[0]
        lines = [line_of(code, match.end()) for match in CORE.finditer(code)]
        if lines:
            yield Finding(
                name, lines[0], "core", f"a store's core in {len(lines)} places: lines {', '.join(map(str, lines))}",
                "use store.probe, or core.probe", size=len(lines))


def check_traits(tree):
    """A condition for a trait stands in few files. A target that no product needs is not built, so it needs none."""
    manifest = "Package.swift"
    for trait in TRAIT.findall(tree.read(manifest) if manifest in tree.files else ""):
        conditional = [
            name for name in tree.under("Sources", "Tests")
            if any(re.search(rf"\b{trait}\b", condition) for _, condition in conditions(split_swift(tree.read(name))[0]))]
        if len(conditional) > MOST_FILES_OF_A_TRAIT:
            yield Finding(
                manifest, 1, "traits", f"{len(conditional)} files have conditions for {trait}, {MOST_FILES_OF_A_TRAIT} are allowed",
                "make the trait a condition of a target", trait, len(conditional))


CHECKS = [
    check_length, check_properties, check_initializers, check_spread, check_unchecked, check_unsafe_variables, check_locks, check_probes, check_core, check_traits]
