"""The files of the project, and the findings of a check in them."""
import functools, subprocess
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Finding:
    """One place that breaks a rule. `key` identifies it in the list of known breaches without its line number. `size` is the
    number that a rule with a limit has counted."""
    file: str
    line: int
    rule: str
    text: str
    remedy: str
    key: str = ""
    size: int = 0

    def __str__(self):
        return f"{self.file}:{self.line}: {self.rule}: {self.text}; {self.remedy}"


class Tree:
    """A working tree. Without Git, as in an exported archive, all files count except those in folders of builds."""

    def __init__(self, root):
        self.root = Path(root)

    @functools.cached_property
    def files(self):
        """Names relative to the root, sorted."""
        listed = self.git("ls-files", "-z", "-co", "--exclude-standard")
        if listed is not None:
            names = listed.rstrip("\0").split("\0")
        else:
            paths = (path.relative_to(self.root) for path in self.root.rglob("*") if path.is_file())
            names = [
                path.as_posix() for path in paths
                if not any(part in (".git", ".run", "__pycache__") or part.startswith(".build") for part in path.parts)]
        # During a merge, Git lists a file in conflict several times.
        return sorted(name for name in set(names) if (self.root / name).is_file())

    def git(self, *arguments):
        """The output of a Git command. None if it fails, or if the root is not a repository."""
        if not (self.root / ".git").exists():
            return None
        try:
            done = subprocess.run(["git", *arguments], cwd=self.root, capture_output=True, text=True, errors="surrogateescape")
        except OSError:
            return None
        return done.stdout if done.returncode == 0 else None

    @functools.lru_cache(maxsize=None)
    def read(self, name):
        return (self.root / name).read_text(errors="replace")

    def under(self, *folders, ending=".swift"):
        """Files in any of the folders whose names have the ending, or one of several."""
        starts = tuple(folder.rstrip("/") + "/" for folder in folders)
        return [name for name in self.files if name.startswith(starts) and name.endswith(ending)]


def line_of(text, offset):
    return text.count("\n", 0, offset) + 1


def area(name):
    """The part of the project that a file counts for."""
    parts = name.split("/")
    if name.endswith(".md"):
        return "Docs"
    if parts[0] == "Sources":
        return "/".join(parts[:2])
    return parts[0] if parts[0] in ("Tests", "Fuzz", "Benchmarks") else "scripts"
