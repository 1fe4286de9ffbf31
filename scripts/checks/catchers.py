"""The files of a catcher of planted mistakes, and fingerprints by which a result becomes invalid.

A catcher is a suite or a test (`Target.Suite/test`), a workload (`crashtest --workload NAME`, with further options behind it)
or a fuzzer (`fuzz NAME`)."""
import functools, hashlib, re

from .sourcetext import code_alone, declared, extended, split_swift, used

SIMULATION = "Sources/VitrineSimulation"
WORKLOADS = f"{SIMULATION}/Workloads"
COMMAND = "Sources/cachectl/Commands/CrashTestCommand.swift"
# Programs that tests start, and their source folders.
PROGRAMS = {"vitrine-faults": ("Tests/FaultProgram",), "vitrine-interrupted": ("Tests/InterruptedProgram", "Tests/InterruptedCalls")}


def digest(value):
    return hashlib.sha256(value.encode()).hexdigest()[:8]


def kind(catcher):
    """The kind of a catcher: crashtest, fuzz or tests."""
    first = catcher.split()[0]
    return first if first in ("crashtest", "fuzz") else "tests"


class Catchers:
    def __init__(self, tree):
        self.tree = tree

    @functools.lru_cache(maxsize=None)
    def definition(self, catcher):
        """Files that define the catcher, without its support. None if it does not exist or has no test."""
        words, under = catcher.split(), self.tree.under
        name = words[2] if kind(catcher) == "crashtest" and len(words) > 2 else words[-1]
        if kind(catcher) == "fuzz":
            return [file for file in under("Fuzz") if file.split("/")[1].lower() == name] or None
        if kind(catcher) == "crashtest":
            return [file for file in under(WORKLOADS) if f'"{name}"' in self.tree.read(file)] or None
        target, _, suite = name.partition(".")
        suite, _, test = suite.partition("/")
        pattern = re.compile(rf"\b(?:struct|class|enum|extension|actor) {suite}\b")
        files = [file for file in under(f"Tests/{target}") if pattern.search(split_swift(self.tree.read(file))[0])]
        runs = rf"@Test\b[^{{]*?\bfunc `?{re.escape(test)}\b" if test else r"@Test\b"
        return files if any(re.search(runs, split_swift(self.tree.read(file))[0]) for file in files) else None

    @functools.lru_cache(maxsize=None)
    def owners(self, *folders):
        """The files of folders that declare each name. A member of an extension is a name, too, if the folders do not
        declare its type. Otherwise, the name of the type leads to the extension."""
        files = self.tree.under(*folders)
        owners = {}
        for file in files:
            for name in declared(self.tree.read(file))[0]:
                owners.setdefault(name, set()).add(file)
        types = frozenset(owners)
        for file in files:
            for name, members in extended(self.tree.read(file)).items():
                for found in [name] if name in types else members:
                    owners.setdefault(found, set()).add(file)
        return owners

    def support(self, files, *folders):
        """The files, and all files of folders that declare names which they use, directly or through others."""
        owners, found, left = self.owners(*folders), set(files), list(files)
        while left:
            for name in used(self.tree.read(left.pop())):
                for file in owners.get(name, set()) - found:
                    found.add(file)
                    left.append(file)
        return found

    @functools.lru_cache(maxsize=None)
    def files(self, catcher):
        """Files that define the catcher, and its support."""
        definition = self.definition(catcher) or []
        if kind(catcher) == "crashtest":
            explorer = {file for file in self.tree.under(SIMULATION) if not file.startswith(WORKLOADS)}
            return self.support(definition, WORKLOADS) | explorer | {COMMAND} & set(self.tree.files)
        if kind(catcher) == "fuzz":
            return self.support(definition, "Fuzz/Support", "Tests/PictureFiles")
        target = catcher.split(".")[0]
        found = self.support(definition, f"Tests/{target}")
        text = "".join(self.tree.read(file) for file in found)
        return found.union(*(
            self.tree.under(*folders, ending=(".swift", ".c", ".h")) for name, folders in PROGRAMS.items() if f'"{name}"' in text))

    @functools.lru_cache(maxsize=None)
    def code(self, file):
        text = self.tree.read(file)
        return digest(code_alone(text) if file.endswith((".swift", ".c", ".h")) else text)

    def fingerprint(self, files):
        """A fingerprint of the code of files. Their names and comments do not change it."""
        return digest(" ".join(sorted(self.code(file) if file in self.tree.files else "" for file in files)))
