"""Known breaches of rules: single places, which must still exist, some with a size that must not grow, and counts by area,
which must not be exceeded."""
from dataclasses import replace
from pathlib import PurePosixPath

from . import language
from .tree import Finding

FILE = "scripts/tidy.debts"
COUNTED = [*language.WORD_RULES, "probes", "undocumented", "width"]
# Rules that count something in a file or a type. A known breach has the number behind it.
SIZED = ["length", "properties", "initializers", "spread", "core", "traits"]
SHOWN = 5  # places of a rule in an area with too many
HEAD = """\
# Known breaches of rules. scripts/tidy fails if there are more, if a size has grown, or if a place below no longer breaks its
# rule. `scripts/tidy --lower` removes such places and lowers sizes and counts. It adds nothing.
"""


class Debts:
    def __init__(self, tree):
        # (rule, file name, key): line; the same: largest size; (rule, area): count.
        self.places, self.sizes, self.counts = {}, {}, {}
        for number, line in enumerate(tree.read(FILE).splitlines() if FILE in tree.files else [], 1):
            if not line.strip() or line.startswith("#"):
                continue
            rule, where, *rest = line.split(" ", 2)
            if rule in COUNTED:
                self.counts[rule, where] = int(rest[0])
                continue
            text = rest[0] if rest else ""
            if rule in SIZED:
                text, _, size = text.rpartition(" ")
                self.sizes[rule, where, text] = int(size)
            self.places[rule, where, text] = number

    @staticmethod
    def key(finding):
        """Identifies a place by its file's name without folders: files may move, and names are unique in a module."""
        return finding.rule, PurePosixPath(finding.file).name, finding.key

    def text(self):
        places = "".join(
            " ".join([" ".join(key).rstrip(), *map(str, [self.sizes[key]] if key in self.sizes else [])]) + "\n"
            for key in sorted(self.places))
        counts = "".join(f"{rule} {where} {count}\n" for (rule, where), count in sorted(self.counts.items()) if count)
        return HEAD + "\n# Rule, file, finding, size.\n" + places + "\n# Rule, area, count.\n" + counts


def judge(findings, words, tree, debts, added):
    """Returns the findings that are not known, the known places that still exist with their sizes, and the counts by rule and
    area.

    A count of words may also be as high as the share of an area's words that the rule allows everywhere. For an area
    with too many, some of the findings are returned, first those on added lines."""
    new, met, counted = [], {}, {}
    for finding in findings:
        key = Debts.key(finding)
        if finding.rule in COUNTED:
            counted.setdefault((finding.rule, finding.key), []).append(finding)
            continue
        if key in debts.places:
            met[key] = max(finding.size, met.get(key, 0))
        if key not in debts.places:
            new.append(finding)
        elif finding.size > debts.sizes.get(key, finding.size):
            new.append(replace(finding, text=f"{finding.text} (before: {debts.sizes[key]})"))
    for key in sorted(set(debts.places) - set(met)):
        text = " ".join(key).rstrip()
        new.append(Finding(FILE, debts.places[key], "debts", f"'{text}' is not found any more", "run scripts/tidy --lower", text))
    for (rule, where), found in sorted(counted.items()):
        share = language.WORD_RULES[rule][1] * words.get(where, 0) / 10_000 if rule in language.WORD_RULES else 0
        allowed = max(int(share), debts.counts.get((rule, where), 0))
        if len(found) > allowed:
            found.sort(key=lambda finding: (finding.file, finding.line) not in added)
            excess = len(found) - allowed
            for finding in found[:min(excess, SHOWN)]:
                new.append(Finding(
                    finding.file, finding.line, rule, f"{finding.text} ({len(found)} in {where}, {allowed} are allowed)",
                    f"{finding.remedy}; all places: scripts/tidy --where {rule} {where}"))
    return new, met, {key: len(found) for key, found in counted.items()}


def lower(debts, met, counted):
    """Removes the places that no longer exist, and lowers the sizes and counts."""
    debts.places = {key: line for key, line in debts.places.items() if key in met}
    debts.sizes = {key: min(size, met[key]) for key, size in debts.sizes.items() if key in met}
    debts.counts = {key: min(count, counted.get(key, 0)) for key, count in debts.counts.items()}
