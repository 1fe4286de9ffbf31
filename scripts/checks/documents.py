"""Rules for documents: the files, tests, names, goals, commands and options that they cite exist."""
import re

from .sourcetext import split_swift, used
from .tree import Finding, line_of

FENCE = re.compile(r"^(```|~~~)[\s\S]*?^\1[ \t]*$", re.MULTILINE)
SPAN = re.compile(r"(?<!`)(`+)(?!`)(.+?)(?<!`)\1(?!`)", re.DOTALL)
LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
FILE = re.compile(r"^[\w.@+-]+(?:/[\w.@+-]+)*\.(?:swift|c|h|md|py|mutants|supp|docc|modulemap|json)$")
TEST = re.compile(r"^(?:(\w+)\.)?(\w+Tests)(?:/(\w+)(?:\(.*\))?)?$")
NAME = re.compile(r"^\.?([A-Za-z]\w*(?:[./][A-Za-z]\w*)*)(\(.*\))?$")
CAMEL = re.compile(r"[a-z0-9][A-Z]")
ENDINGS = (".swift", ".c", ".h")


def is_document(name):
    """Whether the rules apply to a file. The change log may cite names that no longer exist."""
    return name.endswith(".md") and (name.startswith("Docs/") or "/" not in name and name != "CHANGELOG.md")


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
        for name in tree.files:
            if not name.endswith(ENDINGS):
                continue
            text = tree.read(name)
            self.names.update(used(text) if name.endswith(".swift") else re.findall(r"\w+", text))
            if name.startswith("Tests/") and name.endswith(".swift"):
                suites = re.findall(r"\b(?:struct|class|enum|extension) (\w+)", split_swift(text)[0])
                self.suites.update(suites)
                for suite in suites:
                    self.functions.setdefault(suite, set()).update(re.findall(r"\bfunc `?([^`(<]+)", text))
        self.names.update(name.rsplit("/", 1)[-1].split(".")[0] for name in self.paths)
        makefile = tree.read("Makefile") if "Makefile" in tree.files else ""
        self.goals = set(re.findall(r"^([a-z][\w-]*):", makefile, re.MULTILINE))
        scripts = "".join(tree.read(name) for name in tree.under("scripts", ".ci", ending=""))
        self.variables = set(re.findall(r"\b[A-Z][A-Z_]+\b", makefile + scripts))
        for name in tree.under("Sources", "Tests", "Fuzz", "Benchmarks", ending=".swift"):
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
        if match and (CAMEL.search(match[1]) or match[2] and len(match[1]) > 1):
            gone = [name for name in re.split(r"[./]", match[1]) if name not in self.names]
            return f"no code has the name {gone[0]}" if gone else None
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
        for match in LINK.finditer(FENCE.sub(lambda fence: re.sub(r"[^\n]", " ", fence[0]), text)):
            path, _, anchor = match[1].partition("#")
            if re.match(r"\w+:", path):
                continue
            parts = document.split("/")[:-1]
            for part in path.split("/") if path else []:
                parts = parts[:-1] if part == ".." else parts + [part] if part not in ("", ".") else parts
            target = "/".join(parts) if path else document
            where = line_of(text, match.start())
            if target not in cited.paths:
                yield Finding(document, where, "link", f"there is no {target}", "link to the present file", match[1])
            elif anchor and target.endswith(".md") and anchor not in anchors(tree.read(target)):
                yield Finding(document, where, "link", f"{target} has no heading #{anchor}", "link to one that it has", match[1])


CHECKS = [check_citations]
