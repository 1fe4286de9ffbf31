"""Rules for documents: the files, tests, names, goals, commands and options that they cite exist."""
import re

from .declarations import names, types
from .sourcetext import split_swift
from .tree import Finding, line_of

FENCE = re.compile(r"^(```|~~~)[\s\S]*?^\1[ \t]*$", re.MULTILINE)
SPAN = re.compile(r"(?<!`)(`+)(?!`)(.+?)(?<!`)\1(?!`)", re.DOTALL)
TITLE = r"(?:\s+(?:\"[^\"]*\"|'[^']*'|\([^()]*\)))?"
LINK = re.compile(rf"\[[^\]]*\]\(\s*<?([^)\s>]+)>?{TITLE}\s*\)")
REFERENCE = re.compile(rf"^ {{0,3}}\[([^\]]+)\]:\s*<?([^\s>]+)>?{TITLE}\s*$", re.MULTILINE)
REFERRED = re.compile(r"\[([^\]]+)\]\[([^\]]*)\]")
FILE = re.compile(r"^[\w.@+-]+(?:/[\w.@+-]+)*\.(?:swift|c|h|md|py|mutants|supp|docc|modulemap|json)$")
TEST = re.compile(r"^(?:(\w+)\.)?(\w+Tests)(?:/(\w+)(?:\(.*\))?)?$")
NAME = re.compile(r"^\.?([A-Za-z]\w*(?:[./][A-Za-z]\w*)*)(\(.*\))?$")
CAMEL = re.compile(r"[a-z0-9][A-Z]")
ALIAS = re.compile(r"\btypealias\s+(\w+)(?:<[^>=]*>)?\s*=\s*(?:any\s+|some\s+)?(\w+)")
C_NAME = re.compile(r"^(?:#define\s+(\w+)|\w[^;{}=\n]*?\b(\w+)\()", re.MULTILINE)
# Names of others: files of a store and their first bytes, types of Swift and Foundation, headers of HTTP, fields of the kernel,
# files that programs write.
FOREIGN = frozenset(
    "STORE STORE.new LOCK COUNTERS USES CACHEDIR.TAG VREC VFRM VITRSTOR VITR_CKP VITR_CNT VITR_HST VITR_SEG VITR_WAL Sendable "
    "ContinuousClock Synchronization URLSession Age ETag Expires Range Vary Anonymous Private_Clean Private_Dirty VACUUM "
    "XXH3_128bits_withSecret X table.md results.json".split())
SYSTEM = re.compile(r"E[A-Z0-9]+|SIG[A-Z]+|RLIMIT_[A-Z]+|MDB_[A-Z]+")


def is_document(name):
    """Whether the rules apply to a file. The change log may cite names that no longer exist."""
    return name.endswith(".md") and (name.startswith(("Docs/", "Benchmarks/", "Python/")) or "/" not in name and name != "CHANGELOG.md")


class Cited:
    """Everything that a document may cite."""

    def __init__(self, tree):
        self.tree = tree
        self.folders = {"/".join(name.split("/")[:depth]) for name in tree.files for depth in range(1, name.count("/") + 1)}
        self.paths = set(tree.files) | self.folders
        self.tails = {path[index + 1:] for path in self.paths for index in [-1] + [m.start() for m in re.finditer("/", path)]}
        self.top = {path.split("/")[0] for path in self.folders} | {
            path.split("/")[2] for path in self.folders if path.startswith("Sources/") and path.count("/") == 2}
        self.names, self.suites, self.functions = set(), set(), {}
        self.type_files = {}  # Files that declare or extend each type, nested ones under their own names.
        aliases = []
        for name in tree.files:
            if name.endswith((".c", ".h")):
                self.names.update(match[1] or match[2] for match in C_NAME.finditer(tree.read(name)))
            if not name.endswith(".swift"):
                continue
            text = tree.read(name)
            self.names.update(names(text))
            for one in types(text):
                self.type_files.setdefault(one.name.split(".")[-1], set()).add(name)
            aliases += [(match[1], match[2], name) for match in ALIAS.finditer(split_swift(text)[0])]
            if name.startswith("Tests/"):
                suites = re.findall(r"\b(?:struct|class|enum|extension) (\w+)", split_swift(text)[0])
                self.suites.update(suites)
                for suite in suites:
                    self.functions.setdefault(suite, set()).update(re.findall(r"\bfunc `?([^`(<]+)", text))
        for alias, meant, name in aliases:
            self.type_files.setdefault(alias, {name}).update(self.type_files.get(meant, ()))
        folders = {part for folder in self.folders for part in folder.split("/")}
        manifests = "".join(tree.read(name) for name in tree.files if name.endswith("Package.swift"))
        self.places = folders | set(re.findall(r'name: "([\w-]+)"', manifests))
        # Python's classes and functions, and the errors that its extension makes.
        python = "".join(tree.read(name) for name in tree.under("Python", ending=(".py", ".c")))
        self.places.update(re.findall(r"(?:^class |\"vitrine\.)([A-Z]\w*)", python, re.MULTILINE))
        self.names |= self.places | set(re.findall(r"^\s*def (\w+)", python, re.MULTILINE))
        makefile = tree.read("Makefile") if "Makefile" in tree.files else ""
        self.goals = set(re.findall(r"^([a-z][\w-]*):", makefile, re.MULTILINE))
        scripts = "".join(tree.read(name) for name in tree.under("scripts", ".ci", ending=""))
        self.variables = set(re.findall(r"\b[A-Z][A-Z_]+\b", makefile + scripts))
        for name in tree.under("Sources", "Tests", "Fuzz", "Benchmarks", "Python", ending=(".swift", "setup.py")):
            self.variables.update(re.findall(r"\bVITRINE_\w+|\bCI_\w+", tree.read(name)))
        self.variables.update(re.findall(r"\bVITRINE_\w+", tree.read("Package.swift") if "Package.swift" in tree.files else ""))
        self.script_options = set(re.findall(r"--[a-z][\w-]+", scripts + makefile))
        self.commands, self.options = self.tool()

    def tool(self):
        """Options by command of cachectl, and those of any command."""
        shared, commands, everything = {}, {}, {"help", "version"}
        texts = [self.tree.read(name) for name in self.tree.under("Sources/cachectl")]
        option = re.compile(r'let (\w+) = Option\(\s*"([\w-]+)"')
        for text in texts:
            everything.update(match[2] for match in option.finditer(text))
            if re.search(r"^extension Option\b", text, re.MULTILINE):
                shared.update({match[1]: match[2] for match in option.finditer(text)})
        for text in texts:
            own = {match[1]: match[2] for match in option.finditer(text)}
            for match in re.finditer(r'CommandSpecification\(\s*name: "([\w-]+)"', text):
                listed = re.compile(r"\boptions: ([^\n]*?(?:\[[^\]]*\][^\n]*?)*),\n").search(text, match.end())
                words = re.findall(r"(?<!\w)\.?([a-z]\w*)", listed[1]) if listed else []
                known = [own.get(word) or shared.get(word) for word in words]
                # If the list of options is composed elsewhere, it may hold any option.
                commands[match[1]] = None if None in known else set(known) | {"help"}
        return commands, everything

    def has_path(self, path, document):
        """Whether a file or folder has the path: from the root, from the document's folder, or as the end of a path."""
        path = path.rstrip("/")
        beside = "/".join(document.split("/")[:-1] + [path])
        return path in self.tails or beside in self.paths

    def missing(self, text, document):
        """Why a code span or a line of an example cites something that is not there, or None."""
        words = text.split()
        if text in FOREIGN:
            return None
        if words and words[0] in ("make", "cachectl") or text.startswith("scripts/"):
            return self.missing_command(words)
        if text.startswith("--") and re.match(r"--[a-z][\w-]*", text):
            name = re.match(r"--([a-z][\w-]*)", text)[1]
            known = name in self.options or f"--{name}" in self.script_options or name in ("static-swift-stdlib",)
            return None if known else f"there is no option --{name}"
        match = re.match(r"^((?:VITRINE|CI|MUTANTS|FUZZ)_[A-Z_]+)(?:=.*)?$", text)
        if match:
            return None if match[1] in self.variables else f"no script reads {match[1]}"
        if FILE.match(text):
            return None if self.has_path(text, document) else f"there is no file {text}"
        match = TEST.match(text)
        if match:
            suite, test = match[2], match[3]
            if suite not in self.suites and suite not in self.tails:
                return f"there is no suite {suite}"
            if test and test not in self.functions.get(suite, ()) and f"{suite}/{test}" not in self.tails:
                return f"{suite} has no test {test}"
            return None
        if "/" in text and re.match(r"^[\w.-]+(/[\w.-]+)*/?$", text) and text.split("/")[0] in self.top:
            return None if self.has_path(text, document) else f"there is no file {text}"
        match = NAME.match(text)
        return self.missing_name(match[1], match[2]) if match else None

    def missing_name(self, path, arguments):
        """Why no code declares a name, with the types before it, or None. A short word in lower case may be any word."""
        first, *members = re.split(r"[./]", path)
        if not (first[0].isupper() or CAMEL.search(path) or arguments and len(path) > 1):
            return None
        if first[0].isupper():
            if first in FOREIGN or SYSTEM.fullmatch(first) or first in self.variables:
                return None
            if first not in self.type_files and first not in self.places:
                return f"no type, folder or target has the name {first}"
        elif first not in self.names:
            return f"no code declares the name {first}"
        for owner, name in zip([first, *members], members):
            if name not in self.names:
                return f"no code declares the name {name}"
            if owner in self.type_files and not any(name in names(self.tree.read(file)) for file in self.type_files[owner]):
                return f"no file that declares or extends {owner} declares {name}"
        return None

    def missing_command(self, words):
        if words[0] == "make":
            for word in words[1:]:
                name, is_variable, _ = word.partition("=")
                if not is_variable and re.fullmatch(r"[a-z][a-z-]*", word) and word not in self.goals:
                    return f"the Makefile has no goal {word}"
                if is_variable and re.fullmatch(r"[A-Z_]+", name) and name not in self.variables:
                    return f"the Makefile has no variable {name}"
                if name in ("#", "&&", "|", ";"):
                    break
            return None
        options = [word[2:].split("=")[0].strip("[]") for word in words if re.match(r"\[?--[a-z]", word)]
        if words[0] == "cachectl":
            command = words[1] if len(words) > 1 and re.fullmatch(r"[a-z]+", words[1]) else None
            if command and command not in self.commands:
                return f"cachectl has no command {command}"
            known = (self.commands.get(command) if command else None) or self.options
            gone = [option for option in options if option not in known]
            return f"cachectl {command or ''} has no option --{gone[0]}" if gone else None
        if words[0] not in self.tree.files:
            return f"there is no file {words[0]}" if words[0].rstrip("/") not in self.paths else None
        gone = [option for option in options if f"--{option}" not in self.tree.read(words[0])]
        return f"{words[0]} has no option --{gone[0]}" if gone else None


def anchors(text):
    """Anchors of a document's headings, as GitHub makes them."""
    headings = re.findall(r"^#+ +(.+?) *#*$", FENCE.sub("", text), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def spans(text):
    """Code spans, and the lines of examples that call a goal, a script or the tool, each with its offset."""
    prose = FENCE.sub(lambda match: re.sub(r"[^\n]", " ", match[0]), text)
    for match in SPAN.finditer(prose):
        yield match.start(), " ".join(match[2].split())
    for block in FENCE.finditer(text):
        for match in re.finditer(r"^(?:\$ )?(?:\S*/)?((?:make|cachectl) .*|scripts/.*)$", block[0], re.MULTILINE):
            yield block.start() + match.start(), match[1].split("#")[0].split("|")[0].split(">")[0].strip()


def check_citations(tree):
    """Everything that a document cites exists."""
    cited = Cited(tree)
    for document in filter(is_document, tree.files):
        text = tree.read(document)
        for offset, span in spans(text):
            reason = cited.missing(span, document)
            if reason:
                yield Finding(document, line_of(text, offset), "cited", f"`{span}`: {reason}", "cite the present name", span)
        yield from check_links(cited, document, text)


def check_links(cited, document, text):
    """The files and headings that a document links to exist, directly and by reference."""
    def blank(match):
        return re.sub(r"[^\n]", " ", match[0])
    prose = FENCE.sub(blank, text)
    references = {match[1].lower(): match for match in REFERENCE.finditer(prose)}
    for match in REFERRED.finditer(SPAN.sub(blank, prose)):
        label = match[2] or match[1]
        if label.lower() not in references:
            yield Finding(
                document, line_of(text, match.start()), "link", f"there is no reference [{label}]", "write its target", label)
    for match in [*LINK.finditer(prose), *references.values()]:
        link = match[match.re.groups]
        path, _, anchor = link.partition("#")
        if re.match(r"\w+:", path):
            continue
        parts = document.split("/")[:-1]
        for part in path.split("/") if path else []:
            parts = parts[:-1] if part == ".." else parts + [part] if part not in ("", ".") else parts
        target = "/".join(parts) if path else document
        where = line_of(text, match.start())
        if target not in cited.paths:
            yield Finding(document, where, "link", f"there is no {target}", "link to the present file", link)
        elif anchor and target.endswith(".md") and anchor not in anchors(cited.tree.read(target)):
            yield Finding(document, where, "link", f"{target} has no heading #{anchor}", "link to one that it has", link)


CHECKS = [check_citations]
