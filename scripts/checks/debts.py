"""Breaches of rules that are known: single places, which must still be there, and counts by area, which must not be exceeded."""
from pathlib import PurePosixPath

from . import language
from .tree import Finding

FILE = "scripts/tidy.debts"
COUNTED = [*language.WORD_RULES, "undocumented", "width"]
SHOWN = 5  # places of a rule in an area with too many
HEAD = """\
# Breaches of rules that scripts/tidy knows of. It fails where there are more, and where a place below breaks its rule no longer.
# `scripts/tidy --lower` takes out such places and lowers the counts; it adds nothing.
"""


class Debts:
    def __init__(self, tree):
        self.places, self.counts = {}, {}  # (rule, file name, key): line; (rule, area): count.
        for number, line in enumerate(tree.read(FILE).splitlines() if FILE in tree.files else [], 1):
            if not line.strip() or line.startswith("#"):
                continue
            rule, where, *rest = line.split(" ", 2)
            if rule in COUNTED:
                self.counts[rule, where] = int(rest[0])
            else:
                self.places[rule, where, rest[0] if rest else ""] = number

    @staticmethod
    def key(finding):
        """A place goes by its file's name alone, which is the only one of the module: files may move."""
        return finding.rule, PurePosixPath(finding.file).name, finding.key

    def text(self):
        places = "".join(" ".join(key).rstrip() + "\n" for key in sorted(self.places))
        counts = "".join(f"{rule} {where} {count}\n" for (rule, where), count in sorted(self.counts.items()) if count)
        return HEAD + "\n# Rule, file, what is found there.\n" + places + "\n# Rule, area, how many.\n" + counts


def judge(findings, words, tree, debts, added):
    """Findings that are no known debt, debts that are paid, and a table of what is counted.

    Counts of words may also be as high as the share of an area's words that the rule allows everywhere. Of an area with too
    many, some findings are shown, those on lines added last before others."""
    new, met, counted = [], set(), {}
    for finding in findings:
        if finding.rule in COUNTED:
            counted.setdefault((finding.rule, finding.key), []).append(finding)
        elif Debts.key(finding) in debts.places:
            met.add(Debts.key(finding))
        else:
            new.append(finding)
    for key in sorted(set(debts.places) - met):
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
    """Leaves out what is paid."""
    debts.places = {key: line for key, line in debts.places.items() if key in met}
    debts.counts = {key: min(count, counted.get(key, 0)) for key, count in debts.counts.items()}
