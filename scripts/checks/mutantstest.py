"""Tests of the validity of results of planted mistakes: which change of a file makes a result lapse, and which does not. Tests of
how results are recorded, and of the order in which mistakes are run."""
import contextlib, importlib.machinery, importlib.util, io, subprocess, tempfile, unittest
from pathlib import Path

from .catchers import Catchers
from .tree import Tree

PROJECT = {
    "Tests/CrashTests/LogTests.swift": "@Suite struct LogTests {\n  @Test func logEnds() { Helper().look() }\n}\n",
    "Tests/CrashTests/OtherTests.swift": "@Suite struct OtherTests {\n  @Test func other() {}\n}\n",
    "Tests/CrashTests/Helper.swift": "struct Helper {\n  let base = Base()\n}\n",
    "Tests/CrashTests/Look.swift": "extension Base {\n  func look() {}\n}\n",
    "Tests/CrashTests/Base.swift": "struct Base {}\n",
    "Sources/VitrineSimulation/Explorer/Explorer.swift": "struct Explorer {}\n",
    "Sources/VitrineSimulation/Workloads/Puts.swift": "let puts = Workload(\"puts\")\n",
    "Sources/VitrineSimulation/Workloads/Bodies.swift": "let bodies = Workload(\"bodies\")\n",
    "Fuzz/Record/Target.swift": "let target = Seal()\n",
    "Fuzz/Support/Seal.swift": "struct Seal {}\n",
}
SUITE, WORKLOAD, FUZZER = "CrashTests.LogTests", "crashtest --workload puts", "fuzz record"


class CatcherTests(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        for name, text in PROJECT.items():
            self.write(name, text)

    def write(self, name, text):
        path = Path(self.folder.name, name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def prints(self):
        catchers = Catchers(Tree(self.folder.name))
        return [catchers.fingerprint(catchers.files(catcher)) for catcher in (SUITE, WORKLOAD, FUZZER)]

    def expect_lapse(self, name, text, lapsed):
        """Catchers whose results lapse with a new text of a file."""
        before = self.prints()
        self.write(name, text)
        after = self.prints()
        self.assertEqual([one != other for one, other in zip(before, after)], [c in lapsed for c in (SUITE, WORKLOAD, FUZZER)])

    def test_files_of_a_catcher_are_its_definition_and_its_support(self):
        catchers = Catchers(Tree(self.folder.name))
        self.assertEqual(
            sorted(name.split("/")[-1] for name in catchers.files(SUITE)),
            ["Base.swift", "Helper.swift", "LogTests.swift", "Look.swift"])
        self.assertEqual(
            sorted(name.split("/")[-1] for name in catchers.files(WORKLOAD)), ["Explorer.swift", "Puts.swift"])
        self.assertEqual(sorted(name.split("/")[-1] for name in catchers.files(FUZZER)), ["Seal.swift", "Target.swift"])

    def test_emptied_suite_is_no_catcher(self):
        self.write("Tests/CrashTests/LogTests.swift", "@Suite struct LogTests {\n  // @Test func logEnds() {}\n}\n")
        catchers = Catchers(Tree(self.folder.name))
        self.assertIsNone(catchers.definition(SUITE))
        self.assertIsNotNone(catchers.definition("CrashTests.OtherTests"))

    def test_missing_catchers_are_none(self):
        catchers = Catchers(Tree(self.folder.name))
        self.assertIsNotNone(catchers.definition(f"{SUITE}/logEnds"))
        self.assertIsNotNone(catchers.definition(f"{WORKLOAD} --seed 3"))
        for gone in (f"{SUITE}/logBegins", "CrashTests.GoneTests", "crashtest --workload gone", "fuzz gone"):
            self.assertIsNone(catchers.definition(gone), gone)

    def test_weaker_test_makes_results_of_its_suite_lapse(self):
        self.expect_lapse(
            "Tests/CrashTests/LogTests.swift", "@Suite struct LogTests {\n  @Test func logEnds() {}\n}\n", [SUITE])

    def test_support_of_support_makes_results_lapse(self):
        self.expect_lapse("Tests/CrashTests/Base.swift", "struct Base { let a = 1 }\n", [SUITE])
        self.expect_lapse("Sources/VitrineSimulation/Explorer/Explorer.swift", "struct Explorer { let a = 1 }\n", [WORKLOAD])
        self.expect_lapse("Fuzz/Support/Seal.swift", "struct Seal { let a = 1 }\n", [FUZZER])

    def test_extensions_of_types_of_tests_are_found_by_the_type(self):
        # The suite uses a member of that name, but not the type.
        self.write("Tests/CrashTests/Model.swift", "struct Model {\n}\n")
        self.expect_lapse("Tests/CrashTests/Model+End.swift", "extension Model {\n  func logEnds() {}\n}\n", [])
        self.write("Tests/CrashTests/Base.swift", "struct Base { let model = Model() }\n")
        self.expect_lapse("Tests/CrashTests/Model+End.swift", "extension Model {\n  func logBegins() {}\n}\n", [SUITE])

    def test_members_of_other_extensions_are_names(self):
        self.write("Tests/CrashTests/Store.swift", "extension CacheStore {\n  func logEnds() {}\n}\n")
        self.expect_lapse(
            "Tests/CrashTests/Store.swift", "extension CacheStore {\n  func logEnds() { abort() }\n}\n", [SUITE])

    def test_other_suites_and_workloads_make_no_result_lapse(self):
        self.expect_lapse("Tests/CrashTests/OtherTests.swift", "@Suite struct OtherTests {}\n", [])
        self.expect_lapse("Sources/VitrineSimulation/Workloads/Bodies.swift", "let bodies = Workload(\"bodies\", 2)\n", [])

    def test_comments_and_moves_make_no_result_lapse(self):
        name = "Tests/CrashTests/LogTests.swift"
        self.expect_lapse(name, "/// Looks.\n" + PROJECT[name].replace("look() }", "look() }  // once"), [])
        Path(self.folder.name, "Tests/CrashTests/Base.swift").unlink()
        self.expect_lapse("Tests/CrashTests/Deep/Base.swift", PROJECT["Tests/CrashTests/Base.swift"], [SUITE])
        before = self.prints()
        Path(self.folder.name, "Tests/CrashTests/Deep/Base.swift").rename(Path(self.folder.name, "Tests/CrashTests/Root.swift"))
        self.assertEqual(self.prints(), before)


class RecordTests(unittest.TestCase):
    """`--check` and `--record` in a project with one mistake."""
    FILES = {
        "Sources/Vitrine/Log.swift": "func end() {\n  stop()\n}\n",
        "Sources/CVitrineSystem/files.c": "",
        "Tests/CrashTests/LogTests.swift": PROJECT["Tests/CrashTests/LogTests.swift"],
        "Tests/Mutants/1-rules.mutants": "== no-stop\nNothing stops.\nfile: Log.swift\n-  stop()\ncatch: CrashTests.LogTests\n",
    }

    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        for name, text in self.FILES.items():
            self.write(name, text)
        program = str(Path(__file__).resolve().parent.parent / "mutants")
        loader = importlib.machinery.SourceFileLoader("mutants", program)
        self.mutants = importlib.util.module_from_spec(importlib.util.spec_from_loader("mutants", loader))
        loader.exec_module(self.mutants)
        root = Path(self.folder.name)
        self.mutants.ROOT, self.mutants.RESULTS = root, root / "results.json"
        self.mutants.RECORDED, self.mutants.ALLOWED = root / "Tests/Mutants/results.tsv", root / "scripts/mutants.debts"
        self.keep("caught", "CrashTests.LogTests")
        self.record()

    def write(self, name, text):
        path = Path(self.folder.name, name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def loaded(self):
        self.mutants.CATCHERS = Catchers(Tree(self.folder.name))
        return self.mutants.load()

    def keep(self, word, by):
        """A result as a run keeps it."""
        mutant = self.loaded()[0]
        self.mutants.keep({mutant.name: {
            "hash": mutant.hash, "prints": mutant.fingerprints(by), "verdict": word, "by": by, "text": "", "build": 0, "run": 1.5,
            "tree": "", "date": "2026-01-01"}})

    def record(self, drops_lapsed=False):
        with contextlib.redirect_stdout(io.StringIO()) as output:
            status = self.mutants.record(self.loaded(), drops_lapsed)
        return status, output.getvalue()

    def read(self, name):
        return Path(self.folder.name, name).read_text()

    def check(self):
        with contextlib.redirect_stdout(io.StringIO()) as output:
            status = self.mutants.check(self.loaded())
        return status, output.getvalue()

    def expect_failure(self, *texts):
        status, output = self.check()
        self.assertEqual(status, 1, output)
        for text in texts:
            self.assertIn(text, output)

    def test_valid_result_passes(self):
        self.assertEqual(self.check(), (0, "1 of 1 mistakes apply; by valid results 1 are caught and 0 redundant; 0 have no result; 0 findings\n"))

    def test_emptied_suite_fails(self):
        self.write("Tests/CrashTests/LogTests.swift", "@Suite struct LogTests {}\n")
        self.expect_failure("holds no test", "no-stop: 'CrashTests.LogTests' or its support changed")

    def test_lapsed_result_is_not_recorded_as_none(self):
        before = self.read("Tests/Mutants/results.tsv")
        self.write("Tests/CrashTests/LogTests.swift", "@Suite struct LogTests {\n  @Test func logEnds() {}\n}\n")
        self.expect_failure("no-stop: 'CrashTests.LogTests' or its support changed")
        status, output = self.record()
        self.assertEqual((status, self.read("Tests/Mutants/results.tsv")), (1, before))
        self.assertIn("1 recorded results have lapsed", output)
        self.assertIn("no-stop: 'CrashTests.LogTests' or its support changed since its result", output)
        self.expect_failure("no-stop: 'CrashTests.LogTests' or its support changed")
        self.keep("caught", "CrashTests.LogTests")
        self.assertEqual(self.record()[0], 0)
        self.assertIn("1 are caught", self.check()[1])

    def test_uncaught_mistakes_without_a_recorded_result_do_not_fail_a_sample(self):
        bad = self.loaded()
        for recorded, fails in (({}, True), ({"no-stop": {"verdict": "none"}}, False), ({"no-stop": {"verdict": "caught"}}, True)):
            self.assertEqual(self.mutants.failures(bad, recorded), bad if fails else [])

    def test_lapsed_results_are_dropped_on_demand(self):
        self.write("Tests/CrashTests/LogTests.swift", "@Suite struct LogTests {\n  @Test func logEnds() {}\n}\n")
        status, output = self.record(drops_lapsed=True)
        self.assertEqual(status, 0)
        self.assertIn("1 lapsed results are dropped", output)
        self.assertIn("1 more than before may have none", output)
        self.assertIn("no-stop\tnone", self.read("Tests/Mutants/results.tsv"))
        status, output = self.check()
        self.assertEqual((status, "1 have no result" in output), (0, True), output)

    def test_mistakes_without_result_may_only_become_fewer(self):
        name, text = "Tests/Mutants/1-rules.mutants", self.FILES["Tests/Mutants/1-rules.mutants"]
        self.write(name, text + text.replace("no-stop", "no-end"))
        self.assertEqual(self.record()[0], 0)
        self.expect_failure("scripts/mutants.debts: 1 mistakes have no result, 0 may have none")
        self.write("scripts/mutants.debts", "# So many.\n3\n")
        self.assertEqual(self.check()[0], 0)
        self.record()
        self.assertEqual(self.read("scripts/mutants.debts").splitlines()[-1], "1")
        self.write("Tests/Mutants/results.tsv", self.read("Tests/Mutants/results.tsv").splitlines()[0] + "\nno-end\tnone\nno-stop\tnone\n")
        self.mutants.RESULTS.unlink()
        self.expect_failure("2 mistakes have no result, 1 may have none")
        self.write("scripts/mutants.debts", "many\n")
        with self.assertRaises(SystemExit):
            self.check()

    def git(self, *arguments):
        identity = ["-c", "user.name=a", "-c", "user.email=a@b"]
        subprocess.run(["git", *identity, *arguments], cwd=self.folder.name, capture_output=True, check=True)

    def changed(self):
        mutants = self.loaded()
        return [mutant.name for mutant in self.mutants.changed(mutants, "HEAD")]

    def test_changed_code_selects_mistakes_and_comments_do_not(self):
        suite = self.FILES["Tests/CrashTests/LogTests.swift"]
        self.write("Tests/CrashTests/Helper.swift", PROJECT["Tests/CrashTests/Helper.swift"])
        self.git("init", "-q")
        self.git("add", "-A")
        self.git("commit", "-q", "-m", "a")
        self.assertEqual(self.changed(), [])
        for name, text in (
                ("Sources/Vitrine/Log.swift", self.FILES["Sources/Vitrine/Log.swift"]), ("Tests/CrashTests/LogTests.swift", suite),
                ("Tests/CrashTests/Helper.swift", PROJECT["Tests/CrashTests/Helper.swift"])):
            self.write(name, "// Looks.\n" + text)
            self.assertEqual(self.changed(), [], name)
            self.write(name, text + "let more = 1\n")
            self.assertEqual(self.changed(), ["no-stop"], name)
            self.write(name, text)
        name = "Tests/Mutants/1-rules.mutants"
        self.write(name, self.FILES[name].replace("-  stop()", "-  stop()\n+  go()"))
        self.assertEqual(self.changed(), ["no-stop"])

    def test_order_depends_on_the_day(self):
        text = self.FILES["Tests/Mutants/1-rules.mutants"]
        many = [text.replace("no-stop", f"no-stop-{number}") for number in range(200)]
        other = text.replace("no-stop", "slow").replace("CrashTests.LogTests", "fuzz record")
        self.write("Tests/Mutants/1-rules.mutants", "".join([other, *many]))
        mutants = self.loaded()
        orders = [[mutant.name for mutant in self.mutants.rotated(mutants, {}, day)] for day in (1, 4, 7)]
        for order in orders:
            self.assertEqual((sorted(order), order[-1]), (sorted(mutant.name for mutant in mutants), "slow"))
        self.assertEqual(len({name for order in orders for name in order[:10]}), 30)

    def test_changed_planted_file_fails(self):
        self.write("Sources/Vitrine/Log.swift", "func end() {\n  stop()\n  wait()\n}\n")
        self.expect_failure("no-stop: Log.swift changed since its result")

    def test_changed_mistake_fails(self):
        self.write("Tests/Mutants/1-rules.mutants", self.FILES["Tests/Mutants/1-rules.mutants"].replace("-  stop()", "-  stop()\n+  go()"))
        self.expect_failure("no-stop: its lines changed")

    def test_new_and_removed_mistakes_fail(self):
        self.write("Tests/Mutants/1-rules.mutants", self.FILES["Tests/Mutants/1-rules.mutants"].replace("no-stop", "no-end"))
        self.expect_failure("no-end: it has no result", "there is no mistake no-stop")

    def test_survivor_fails(self):
        self.keep("survived", "")
        self.record()
        self.expect_failure("no-stop: it is known: survived")

    def test_moved_file_is_named(self):
        (Path(self.folder.name) / "Sources/Vitrine/Log.swift").unlink()
        self.write("Sources/Vitrine/Journal/Log.swift", self.FILES["Sources/Vitrine/Log.swift"])
        self.expect_failure("there is no Log.swift; it is at Journal/Log.swift: correct 'file:' in Tests/Mutants/1-rules.mutants")
        with self.assertRaises(self.mutants.Stale):
            self.loaded()[0].planted(Path(self.folder.name))
