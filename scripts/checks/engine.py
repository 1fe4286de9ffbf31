"""Rules for files of the engine: layers, the platform, pointers."""
import itertools, re

from .declarations import closing, members_of, types
from .sourcetext import declared, split_swift, used
from .tree import Finding, line_of

ENGINE = "Sources/Vitrine"
DOCUMENT = "Docs/Architecture.md"
CALLS = "Sources/CVitrineSystem/files.c"
HEADER = re.compile(r"^\| *layer *\| *folders *\| *never names *\|$", re.MULTILINE)
# Modules that the engine imports, and those of the C library, which only Platform imports.
MODULES = ("Synchronization", "CVitrineSystem", "CZstd")
C_LIBRARY = ("Glibc", "Musl", "Darwin")
IMPORT = re.compile(
    r"(?:^|;)\s*(?:(?:@\w+(?:\([^)]*\))?|public|package|internal|fileprivate|private)\s+)*import\s+"
    r"(?:(?:struct|class|enum|protocol|typealias|func|let|var)\s+)?(\w+)", re.MULTILINE)
CONDITION = re.compile(r"^[ \t]*#(?:else)?if\b.*", re.MULTILINE)
SYSTEM = re.compile(r"\b(?:os|canImport|arch|targetEnvironment)\s*\(")
NUMBER = r"(?:\w+\s*\(\s*)?-?\s*\d"
COMPARES = r"(?:[=!]==?|~=|[<>]=?|\.\.[.<])"
CODE = r"(?:\w+[?!]?\s*\.\s*)*\bcode\b"
# Values of errno: by name, or as a number that is made or compared as a code.
ERRNO = re.compile(
    rf"\berrno\b|\bSystemError\s*\(\s*code:\s*{NUMBER}\w*|\bcode\s*{COMPARES}\s*{NUMBER}\w*|"
    rf"\bcode\s*&?[-+]\s*\d\w*|\bcase\s+(?:\.some\s*\(\s*)?-?\d\w*\s*[)?]?\s*=\s*{CODE}|"
    rf"\b\d\w*\s*\)?\s*{COMPARES}\s*{CODE}|[\[(][-\s\d,.<]*\d[-\s\d,.<]*[\])]\s*\.\s*contains\s*\([^()\n]*\bcode\b|"
    r"(?<![.\w])(?!EOF\b)E[A-Z0-9]{2,}\b")
# A name for a number, or for several, and a comparison of a code with a name.
NUMBERED = re.compile(
    r"\b(?:let|var)\s+`?(\w+)`?\s*(?::\s*(?:\[\s*|Set\s*<\s*)?(?:Int32|CInt|Int)\s*[\]>]?\s*)?=\s*(?:(?:Int32|CInt)\s*\(\s*)?\[?\s*-?\d")
NAMED_CODE = re.compile(
    rf"\bcode\s*{COMPARES}\s*(?P<right>\w+(?:\.\w+)*)|(?P<left>\b[A-Za-z_]\w*(?:\.\w+)*)\s*{COMPARES}\s*{CODE}|"
    r"(?P<several>\b[A-Za-z_]\w*(?:\.\w+)*)\s*\.\s*contains\s*\([^()\n]*\bcode\b")
CODES = re.compile(r"\bswitch\b[^{\n]*?(\.?)\bcode\s*\)*\s*\{")
CODE_CASE = re.compile(r"\bcase\s+-?(\d+)[^:\n]*:")
# Members of the standard library that an extension of the engine may have, too.
STANDARD = frozenset(
    "append contains count description drop dropFirst dropLast element enumerated filter find first flatMap forEach index "
    "insert isEmpty keys last load map max merge min next prefix reduce remove removeAll removeFirst removeLast replace "
    "resume reversed sort sorted split store suffix update values write zip".split())
HIGHEST_WITH_POINTERS = 4  # The number of a layer.
# The view of bytes for the length of a call is allowed in each layer.
POINTER = re.compile(r"\b(?!UnsafeRawBufferPointer\b)(?:Unsafe\w*|Opaque)Pointer\b|\bwithUnsafe(?:Mutable)?Pointer\b")
MEMBER_USE = re.compile(r"\.\s*`?(\w+)")
ANY_NAME = re.compile(r"\b(?:func|let|var|case|typealias|struct|enum|class|actor|protocol|inout|for|in)\s+`?(\w+)|\b(\w+)\s*:")


def layers(tree):
    """Folders by layer, the lowest first, and the names that a folder may not use, as the document's table has them."""
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


def check_layers(tree):
    """A file uses names of its own layer and of those below."""
    rank, banned = layers(tree)
    if not rank:
        yield Finding(DOCUMENT, 1, "layers", "the table of layers is missing", "write '| layer | folders | never names |'")
        return
    texts = {name: tree.read(name) for name in tree.under(ENGINE)}
    folder_of = {name: name.split("/")[2] if name.count("/") > 2 else "" for name in texts}
    for folder in sorted(set(folder_of.values()) - set(rank)):
        example = next(name for name in texts if folder_of[name] == folder)
        yield Finding(example, 1, "layers", f"the folder {folder or ENGINE} is in no layer", f"add it to the table in {DOCUMENT}")
    for folder in sorted(set(rank) - set(folder_of.values())):
        yield Finding(DOCUMENT, 1, "layers", f"there is no folder {folder}", "take it out of the table")
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
                    name, line, "layers", f"{folder} never names {symbol}", "pass it a value instead", symbol)
            above = owner.get(symbol)
            if above is None or rank.get(folder_of[above], -1000) <= rank[folder]:
                continue
            # A nested type or a member of the file's own may have the same name.
            if re.search(rf"\b(?:struct|class|enum|actor|typealias|func|let|var|case) +`?{symbol}\b", code):
                continue
            yield Finding(
                name, line, "layers", f"{symbol} of {folder_of[above]} is in a layer above {folder}",
                f"move {symbol} down or the use up", symbol)
    yield from members_above({name: text for name, text in texts.items() if folder_of[name] in rank}, rank)


def members_above(texts, rank):
    """Uses of members that extensions declare in layers above. A name that the own layer or one below has, too, is no use."""
    layer = {name: rank[name.split("/")[2]] for name in texts}
    lowest, members = {}, {}
    for name, text in texts.items():
        code = split_swift(text)[0]
        for match in ANY_NAME.finditer(code):
            symbol = match[1] or match[2]
            lowest[symbol] = min(lowest.get(symbol, layer[name]), layer[name])
        for one in types(text):
            if one.kind == "extension":
                for symbol in members_of(text, one) - STANDARD:
                    members.setdefault(symbol, name)
    for name, text in texts.items():
        code, seen = split_swift(text)[0], set()
        for match in MEMBER_USE.finditer(code):
            symbol = match[1]
            if symbol in members and symbol not in seen and lowest.get(symbol, layer[name]) > layer[name]:
                seen.add(symbol)
                yield Finding(
                    name, line_of(code, match.start()), "layers",
                    f"the member {symbol} of {members[symbol].split('/')[2]} is in a layer above {name.split('/')[2]}",
                    f"move {symbol} down or the use up", symbol)


def check_imports(tree):
    """The engine imports only the standard library and its C targets, and Platform also the C library."""
    for name in tree.under(ENGINE):
        code, in_platform = split_swift(tree.read(name))[0], name.startswith(f"{ENGINE}/Platform/")
        for match in IMPORT.finditer(code):
            if match[1] in MODULES or in_platform and match[1] in C_LIBRARY:
                continue
            yield Finding(
                name, line_of(code, match.start(1)), "imports", f"the engine imports {match[1]}",
                "go through a type of Platform" if match[1] in C_LIBRARY else "use the standard library or a C target", match[1])


def conditions(code):
    """Conditions of compilation, which may go on behind the line, each with its offset."""
    for match in CONDITION.finditer(code):
        text, end = match[0], match.end()
        while end < len(code):
            following = code[end + 1:].split("\n", 1)[0]
            is_open = text.count("(") > text.count(")") or text.rstrip().endswith(("&&", "||", "!"))
            if not is_open and not following.lstrip().startswith(("&&", "||")):
                break
            text, end = f"{text.rstrip()} {following.strip()}", end + 1 + len(following)
        yield match.start(), " ".join(text.split())


def number_cases(code):
    """Numbers among the cases of a switch over a code. Up to 2, a code that is no property may be one of a format."""
    for match in CODES.finditer(code):
        for case in CODE_CASE.finditer(code, match.end(), closing(code, match.end())):
            if match[1] or int(case[1]) > 2:
                yield case


def named_codes(code, numbers):
    """Comparisons of a code with the name of a number, which the names of Platform are not."""
    for match in NAMED_CODE.finditer(code):
        first, *rest = (match["right"] or match["left"] or match["several"]).split(".")
        if (rest or [first])[-1] in numbers and first not in ("SystemError", "SystemCode"):
            yield match


def check_platform(tree):
    """Only Platform distinguishes systems and errno values, and only Platform calls functions for files."""
    calls = set(re.findall(r"^\w[\w *]*\b(vitrine_\w+)\(", tree.read(CALLS), re.MULTILINE)) if CALLS in tree.files else set()
    outside = [name for name in tree.under(ENGINE) if not name.startswith(f"{ENGINE}/Platform/")]
    numbers = {match[1] for name in outside for match in NUMBERED.finditer(split_swift(tree.read(name))[0])}
    for name in outside:
        code = split_swift(tree.read(name))[0]
        for offset, condition in conditions(code):
            if SYSTEM.search(condition):
                yield Finding(
                    name, line_of(code, offset), "platform", f"'{condition}' outside of Platform",
                    "put the difference between systems into a file of Platform", condition)
        for call in sorted(calls & set(used(tree.read(name)))):
            yield Finding(
                name, used(tree.read(name))[call], "platform", f"{call} is called outside of Platform",
                "go through Environment, or a type of Platform", call)
        for match in itertools.chain(ERRNO.finditer(code), number_cases(code), named_codes(code, numbers)):
            yield Finding(
                name, line_of(code, match.start()), "errno", f"'{match[0]}' outside of Platform",
                "give the value a name in Platform and use that", match[0])


def check_pointers(tree):
    """The upper layers pass bytes as views, and use no other pointers, but for listed files."""
    text = tree.read(DOCUMENT) if DOCUMENT in tree.files else ""
    upper = {
        folder for number, folders in re.findall(r"^\| *(\d+) *\|([^|\n]*)\|", text, re.MULTILINE) if int(number) > HIGHEST_WITH_POINTERS
        for folder in re.findall(r"`(\w+)`", folders)}
    for name in tree.under(*(f"{ENGINE}/{folder}" for folder in upper)) if upper else []:
        code = split_swift(tree.read(name))[0]
        if match := POINTER.search(code):
            yield Finding(
                name, line_of(code, match.start()), "pointers", f"{match[0]} above layer {HIGHEST_WITH_POINTERS}",
                "pass an UnsafeRawBufferPointer for the length of a call, or a type of the lower layers that owns the memory")


CHECKS = [check_layers, check_imports, check_platform, check_pointers]
