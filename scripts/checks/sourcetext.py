"""Source text of Swift, C, Python and shell: its code without comments, its comments without code, and its declarations."""
import functools, re

# The next place where the meaning of the text can change, for each state of the scanner.
CODE = re.compile(r'//[^\n]*|/\*|(#*)"""|(#*)"|\(|\)|\'(?:\\.|[^\'\\\n])\'')
BLOCK = re.compile(r"/\*|\*/")
IDENTIFIER = re.compile(r"`?\b[A-Za-z_]\w*\b`?")
WORDS = re.compile(r"[A-Za-z][A-Za-z']*")
MODIFIERS = (
    r"(?:(?:public|package|internal|open|final|indirect|static|class|nonisolated|consuming|borrowing|mutating|override|"
    r"required|convenience|lazy|weak|unowned|private\(set\)|package\(set\)|internal\(set\)|nonisolated\(unsafe\)|"
    r"@\w+(?:\([^)\n]*\))?)\s+)*")
DECLARED = re.compile(
    rf"^{MODIFIERS}(struct|class|enum|protocol|actor|typealias|func|let|var|extension|macro)\s+`?(\w+)", re.MULTILINE)
MEMBER = re.compile(
    rf"^[ \t]+{MODIFIERS}(struct|class|enum|actor|typealias|func|let|var)\s+`?(\w+)", re.MULTILINE)


def lines_of(text):
    """The line ends of a text, as its replacement."""
    return "\n" * text.count("\n") + " "


def pieces(text):
    """The text of a Swift or C file cut into code, strings ("), and comments (/): pairs of kind and piece."""
    position, start = 0, 0  # Of the code that is not yielded yet.
    interpolations = []  # Parentheses that are open in each interpolation under way, and the string that goes on behind it.
    while match := CODE.search(text, position):
        token, position = match[0], match.end()
        if token == "(":
            if interpolations:
                interpolations[-1][0] += 1
            continue
        if token == ")" and not (interpolations and interpolations[-1][0] == 0):
            if interpolations:
                interpolations[-1][0] -= 1
            continue
        yield "", text[start:match.start()]
        start = match.start()
        if token == "/*":
            depth = 1
            while depth and (inner := BLOCK.search(text, position)):
                depth += 1 if inner[0] == "/*" else -1
                position = inner.end()
            position = len(text) if depth else position
        elif token == ")":
            position = string_end(text, position, interpolations.pop()[1], interpolations)
        elif token[0] in '"#':
            hashes = match[1] if match[1] is not None else match[2]
            position = string_end(text, position, (hashes, token.lstrip("#")), interpolations)
        yield "/" if token[0] == "/" else '"', text[start:position]
        start = position
    yield "", text[start:]


def string_end(text, position, delimiter, interpolations):
    """The offset behind a string, or behind the start of an interpolation in it, which is added to the list."""
    hashes, quotes = delimiter
    end = "" if quotes == '"""' else r"|\n"
    for match in re.compile(rf"\\{hashes}\(|\\{hashes}.|{quotes}{hashes}{end}", re.DOTALL).finditer(text, position):
        if match[0] == f"\\{hashes}(":
            interpolations.append([0, delimiter])
            return match.end()
        if match[0][0] != "\\":
            return match.end()
    return len(text)


@functools.lru_cache(maxsize=None)
def split_swift(text):
    """Code and comments of a Swift or C file, each with the lines of the file; strings are in neither."""
    parts = list(pieces(text))
    code = "".join(piece if kind == "" else lines_of(piece) for kind, piece in parts)
    return code, "".join(piece if kind == "/" else lines_of(piece) for kind, piece in parts)


def split_hashes(text):
    """Code and comments of a Makefile, a shell script or a Python program, whose docstrings count as comments."""
    code, comments = [], []
    for piece in re.split(r'(^[ \t]*"""[\s\S]*?""")', text, flags=re.MULTILINE):
        if piece.lstrip().startswith('"""'):
            code.append(lines_of(piece))
            comments.append(piece)
            continue
        for line in piece.splitlines(keepends=True):
            match = re.search(r"(^|\s)#(?![!{]).*", line)
            start = match.start() if match and line[:match.start()].count('"') % 2 == 0 else len(line)
            code.append(line[:start] + lines_of(line[start:]))
            comments.append(line[start:] or "\n")
    return "".join(code), "".join(comments)


def without_comments(text):
    """Code and strings of a Swift or C file, with the lines of the file."""
    return "".join(lines_of(piece) if kind == "/" else piece for kind, piece in pieces(text))


def code_alone(text):
    """Code and strings of a Swift or C file without indentation and blank lines: two texts that differ in comments are equal."""
    return "\n".join(line.strip() for line in without_comments(text).splitlines() if line.strip())


@functools.lru_cache(maxsize=None)
def declared(text):
    """Names that a Swift file declares at top level for others, and those of the members of its extensions."""
    code = split_swift(text)[0]
    names = {match[2] for match in DECLARED.finditer(code) if match[1] != "extension"}
    return frozenset(names), frozenset().union(*extended(text).values())


@functools.lru_cache(maxsize=None)
def extended(text):
    """The types that a Swift file extends, each with the names of the members that the file adds."""
    code, members = split_swift(text)[0], {}
    for match in DECLARED.finditer(code):
        if match[1] == "extension":
            start = match.start()
            end = re.search(r"^\}", code[start:], re.MULTILINE)
            found = MEMBER.finditer(code, start, start + end.start() if end else len(code))
            members.setdefault(match[2], set()).update(m[2] for m in found)
    return members


@functools.lru_cache(maxsize=None)
def used(text):
    """Identifiers of a Swift file's code, with the line where each comes first."""
    code = split_swift(text)[0]
    lines = {}
    number, last = 1, 0
    for match in IDENTIFIER.finditer(code):
        name = match[0].strip("`")
        if name not in lines:
            number += code.count("\n", last, match.start())
            last = match.start()
            lines[name] = number
    return lines
