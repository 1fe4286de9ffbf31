"""The rule for subjects of commits."""
from .tree import Finding

LONGEST = 72
# The last commit before the rule.
BASE = "3d34323"


def check_subjects(tree):
    """Subjects of the commits behind the base. A shallow clone without the base has later commits alone, so all are looked at.
    Without Git, none is."""
    commits = f"{BASE}..HEAD"
    if tree.git("rev-parse", "--verify", "--quiet", f"{BASE}^{{commit}}") is None:
        if tree.git("rev-parse", "--verify", "--quiet", "HEAD") is None:
            return
        if (tree.git("rev-parse", "--is-shallow-repository") or "").strip() != "true":
            yield Finding(
                "scripts/checks/commits.py", 1, "subject", f"the commit {BASE}, after which the rule began, is not in this repository",
                "fetch it, or write the present name of that commit in BASE")
            return
        commits = "HEAD"
    listed = tree.git("log", "--no-merges", "--format=%h %s", commits)
    for line in (listed or "").splitlines():
        commit, _, subject = line.partition(" ")
        if len(subject) > LONGEST:
            yield Finding(
                f"commit {commit}", 1, "subject", f"{len(subject)} characters, {LONGEST} are allowed: {subject}",
                "shorten it with git commit --amend or git rebase")


CHECKS = [check_subjects]
