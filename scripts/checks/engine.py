"""Rules for files of the engine: floors, the platform, length."""
import re

from .sourcetext import declared, split_swift, used
from .tree import Finding, line_of

ENGINE = "Sources/Vitrine"
DOCUMENT = "Docs/Architecture.md"
CALLS = "Sources/CVitrineSystem/files.c"
LONGEST = 400
HEADER = re.compile(r"^\| *floor *\| *folders *\| *never names *\|$", re.MULTILINE)
# Modules of the C library, and conditions that choose between systems.
SYSTEM = re.compile(r"^[ \t]*(#(?:else)?if\b.*\b(?:os|canImport)\(.*\).*|import (?:Glibc|Musl|Darwin)\b)", re.MULTILINE)
ERRNO = re.compile(
    r"\berrno\b|\bSystemError\(code: *\d+|\bcode *[=!]= *\d+|(?<![.\w])E(?:2BIG|ACCES|AGAIN|BADF|BUSY|DQUOT|EXIST|FBIG|INTR|"
    r"INVAL|IO|ISDIR|LOOP|MFILE|NAMETOOLONG|NFILE|NODEV|NOENT|NOMEM|NOSPC|NOTDIR|NOTEMPTY|NOTSUP|OPNOTSUPP|PERM|PIPE|"
    r"ROFS|STALE|TIMEDOUT|XDEV)\b")
FORBIDDEN = ("Foundation", "FoundationNetworking", "VitrineImages", "VitrineSimulation")


def floors(tree):
    """Folders by floor, the lowest first, and the names that a folder may not use, as the document's table has them."""
    rank, banned, text = {}, {}, tree.read(DOCUMENT) if DOCUMENT in tree.files else ""
    header = HEADER.search(text)
    rows = text[header.end():].splitlines()[2:] if header else []
    for index, row in enumerate(rows):
        if not row.startswith("|"):
            break
        cells = row.split("|")
        for folder in re.findall(r"`(\w+)`", cells[2]):
            rank[folder], banned[folder] = -index, set(re.findall(r"`(\w+)`", cells[3]))
    return rank, banned


def check_floors(tree):
    """A file uses names of its own floor and of those below."""
    rank, banned = floors(tree)
    if not rank:
        yield Finding(DOCUMENT, 1, "floors", "the table of floors is missing", "write '| floor | folders | never names |'")
        return
    texts = {name: tree.read(name) for name in tree.under(ENGINE)}
    folder_of = {name: name.split("/")[2] if name.count("/") > 2 else "" for name in texts}
    for folder in sorted(set(folder_of.values()) - set(rank)):
        example = next(name for name in texts if folder_of[name] == folder)
        yield Finding(example, 1, "floors", f"the folder {folder or ENGINE} is on no floor", f"add it to the table in {DOCUMENT}")
    for folder in sorted(set(rank) - set(folder_of.values())):
        yield Finding(DOCUMENT, 1, "floors", f"there is no folder {folder}", "take it out of the table")
    owner = {}
    for name in texts:
        for symbol in declared(texts[name])[0]:
            owner.setdefault(symbol, name)
    for name, text in texts.items():
        folder, code = folder_of[name], split_swift(text)[0]
        if folder not in rank:
            continue
        for symbol, line in used(text).items():
            if symbol in banned[folder]:
                yield Finding(
                    name, line, "floors", f"{folder} never names {symbol}", "pass it a value instead", symbol)
            above = owner.get(symbol)
            if above is None or rank.get(folder_of[above], -1000) <= rank[folder]:
                continue
            # A nested type or a member of the file's own may have the same name.
            if re.search(rf"\b(?:struct|class|enum|actor|typealias|func|let|var|case) +`?{symbol}\b", code):
                continue
            yield Finding(
                name, line, "floors", f"{symbol} of {folder_of[above]} is on a floor above {folder}",
                f"move {symbol} down or the use up", symbol)


def check_imports(tree):
    """The engine imports only the standard library and its C targets."""
    for name in tree.under(ENGINE):
        for match in re.finditer(r"^\s*(?:@\w+ +)*import (?:\w+ )?(\w+)", split_swift(tree.read(name))[0], re.MULTILINE):
            if match[1] in FORBIDDEN:
                yield Finding(
                    name, line_of(tree.read(name), match.start(1)), "imports", f"the engine imports {match[1]}",
                    "use the standard library or a C target", match[1])


def check_platform(tree):
    """Only Platform distinguishes systems and errno values, and only Platform calls functions for files."""
    calls = set(re.findall(r"^\w[\w *]*\b(vitrine_\w+)\(", tree.read(CALLS), re.MULTILINE)) if CALLS in tree.files else set()
    for name in tree.under(ENGINE):
        if name.startswith(f"{ENGINE}/Platform/"):
            continue
        code = split_swift(tree.read(name))[0]
        for match in SYSTEM.finditer(code):
            found = match[1].strip()
            yield Finding(
                name, line_of(code, match.start(1)), "platform", f"'{found}' outside of Platform",
                "put the difference between systems into a file of Platform", found)
        for call in sorted(calls & set(used(tree.read(name)))):
            yield Finding(
                name, used(tree.read(name))[call], "platform", f"{call} is called outside of Platform",
                "go through Environment, or a type of Platform", call)
        for match in ERRNO.finditer(code):
            yield Finding(
                name, line_of(code, match.start()), "errno", f"'{match[0]}' outside of Platform",
                "give the value a name in Platform and use that", match[0])


def check_length(tree):
    """A file of the engine is short, because it holds one thing."""
    for name in tree.under(ENGINE):
        count = len(tree.read(name).splitlines())
        if count > LONGEST:
            yield Finding(name, LONGEST + 1, "length", f"{count} lines, {LONGEST} are allowed", "split the file")


CHECKS = [check_floors, check_imports, check_platform, check_length]
