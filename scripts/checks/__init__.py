"""Parts of scripts/tidy and scripts/mutants, and tests of the scripts."""


def load_tests(loader, tests, pattern):
    """Lets `python3 -m unittest` in scripts/ find the tests, whose files have other names than test*.py."""
    from . import clustertest, mutantstest, selftest
    for module in (clustertest, mutantstest, selftest):
        tests.addTests(loader.loadTestsFromModule(module))
    return tests
