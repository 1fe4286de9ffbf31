"""The rule for subjects of commits."""
from .tree import Finding

LONGEST = 72
# The last commit before the rule.
BASE = "3d34323"


def check_subjects(tree):
    """Subjects of the commits behind the base. Without Git, or without the base in a shallow clone, none is looked at."""
    listed = tree.git("log", "--no-merges", "--format=%h %s", f"{BASE}..HEAD")
    for line in (listed or "").splitlines():
        commit, _, subject = line.partition(" ")
        if len(subject) > LONGEST:
            yield Finding(
                f"commit {commit}", 1, "subject", f"{len(subject)} characters, {LONGEST} are allowed: {subject}",
                "shorten it with git commit --amend or git rebase")


CHECKS = [check_subjects]
