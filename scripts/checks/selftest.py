"""Tests of scripts/tidy: a small project without a breach, and one with each breach planted into it."""
import subprocess, tempfile, unittest
from pathlib import Path

from . import clustertest, commits, documents, engine, language, mutantstest, sourcetext, structure, symbols
from .debts import Debts, FILE, judge, lower
from .tree import Finding, Tree

PROJECT = {
    "Docs/Architecture.md":
        "# Architecture\n\n## The picture\n\n| layer | folders | never names |\n|---|---|---|\n| 3 | `Store` | |\n"
        "| 2 | `Index`, `Journal` | `File` |\n| 1 | `Platform` | |\n",
    "Sources/Vitrine/Store/Store.swift":
        "/// A store.\npublic struct Store {\n  /// Its table.\n  public let table: Table\n}\n",
    "Sources/Vitrine/Index/Table.swift": "package struct Table {\n  var code: Code\n}\n",
    "Sources/Vitrine/Journal/Log.swift": "// Store tells: \"Store\".\nstruct Log { let name = \"Store\"; let table: Table }\n",
    "Sources/Vitrine/Platform/Code.swift": "#if os(Linux)\nimport Glibc\n#endif\nstruct Code { let value = EIO }\nprotocol File {}\n",
    "Sources/cachectl/Get.swift":
        "let all = Option(\"all\", \"every one\")\nextension Option { static let json = Option(\"json\", \"\") }\n"
        "let get = CommandSpecification(\n  name: \"get\", options: [all, .json],\n  notes: [])\n",
    "Tests/StoreTests/StoreTests.swift": "@Suite struct StoreTests {\n  @Test func storeHoldsItsTable() {}\n}\n",
    "Makefile": "TIME ?= 1\ntest: ## Run\n\t@true\n",
    "scripts/run": "#!/bin/sh\n# Runs with --fast.\n",
    "README.md":
        "# Store\n\nSee [layers](Docs/Architecture.md#the-picture), `Store/Store.swift`, `StoreTests/storeHoldsItsTable`, "
        "`make test TIME=3`, `cachectl get --all`, `--json`, `scripts/run --fast`.\n\n```\nmake test   # all\n```\n",
}


class TidyTests(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        for name, text in PROJECT.items():
            self.write(name, text)

    def write(self, name, text):
        path = Path(self.folder.name, name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def add(self, name, text):
        self.write(name, PROJECT.get(name, "") + text)

    def git(self, *arguments):
        identity = ["-c", "user.name=a", "-c", "user.email=a@b"]
        done = subprocess.run(["git", *identity, *arguments], cwd=self.folder.name, capture_output=True, text=True, check=True)
        return done.stdout.strip()

    def found(self):
        tree = Tree(self.folder.name)
        return [f for module in (engine, structure, symbols, documents) for check in module.CHECKS for f in check(tree)]

    def expect(self, *places):
        """The breaches are these, as rule, file and line."""
        self.assertEqual([(f.rule, f.file, f.line) for f in self.found()], list(places), [str(f) for f in self.found()])

    def test_project_without_a_breach_is_clean(self):
        self.expect()

    def test_use_of_a_layer_above_is_found(self):
        self.add("Sources/Vitrine/Index/Table.swift", "\nfunc make() -> Store? { nil }\n")
        self.expect(("layers", "Sources/Vitrine/Index/Table.swift", 5))

    def test_extension_of_a_type_above_is_found(self):
        self.write("Sources/Vitrine/Platform/More.swift", "extension Table {}\n")
        self.expect(("layers", "Sources/Vitrine/Platform/More.swift", 1))

    def test_use_in_an_interpolation_is_found(self):
        self.write("Sources/Vitrine/Platform/More.swift", 'let text = "a \\(Table.self) b"\n')
        self.expect(("layers", "Sources/Vitrine/Platform/More.swift", 1))

    def test_nested_type_with_a_name_of_a_layer_above_is_no_use(self):
        self.write("Sources/Vitrine/Platform/More.swift", "enum More {\n  struct Table {}\n  let table: Table\n}\n")
        self.expect()

    def test_banned_name_is_found(self):
        self.add("Sources/Vitrine/Index/Table.swift", "func read(_ file: any File) {}\n")
        self.expect(("layers", "Sources/Vitrine/Index/Table.swift", 4))

    def test_member_of_an_extension_above_is_found(self):
        self.write("Sources/Vitrine/Store/Table+Store.swift", (
            "extension Table {\n  func read() {\n    let inner = 1\n  }\n  private var hidden: Int { 1 }\n  func contains() {}\n"
            "  var shared: Int { 1 }\n}\n"))
        self.write("Sources/Vitrine/Index/Tables.swift", (
            "struct Tables {\n  func use(_ table: Table) {\n    table.read()\n    table.contains()\n    table.shared\n"
            "    table.hidden\n    table.inner\n  }\n}\n"))
        self.write("Sources/Vitrine/Platform/Shared.swift", "struct Shared {\n  let shared = 1\n}\n")
        self.expect(("layers", "Sources/Vitrine/Index/Tables.swift", 3))

    def test_folder_in_no_layer_is_found(self):
        self.write("Sources/Vitrine/New/New.swift", "struct New {}\n")
        self.expect(("layers", "Sources/Vitrine/New/New.swift", 1))

    def test_layer_without_a_folder_is_found(self):
        self.write("Docs/Architecture.md", PROJECT["Docs/Architecture.md"] + "| 0 | `Gone` | |\n")
        self.expect(("layers", "Docs/Architecture.md", 1), ("cited", "Docs/Architecture.md", 10))

    def test_missing_table_of_layers_is_found(self):
        self.write("Docs/Architecture.md", "## The picture\n")
        self.expect(("layers", "Docs/Architecture.md", 1))

    def test_imports_of_other_modules_are_found(self):
        lines = [
            "import Foundation", "@_exported import FoundationEssentials", "@_spi(Tests) public import VitrineSimulation",
            "internal import struct Vitrine.Log", "import Synchronization; import os", "import Glibc", "import CZstd"]
        self.add("Sources/Vitrine/Index/Table.swift", "".join(f"{line}\n" for line in lines))
        self.write("Sources/Vitrine/Platform/More.swift", "import Darwin\nimport Foundation\n")
        self.expect(
            *[("imports", "Sources/Vitrine/Index/Table.swift", line) for line in range(4, 10)],
            ("imports", "Sources/Vitrine/Platform/More.swift", 2))

    def test_systems_are_told_apart_in_platform_alone(self):
        self.add("Sources/Vitrine/Journal/Log.swift", (
            "#if os(Linux)\n#elseif canImport(Darwin)\n#endif\n#if arch(arm64)\n"
            "#elseif DEBUG &&\n  targetEnvironment(simulator)\n#endif\n"
            "#if DEBUG\n  || os (Linux)\n#endif\n#if DEBUG\nlet arch = os(1)\n#endif\n"))
        self.expect(*[("platform", "Sources/Vitrine/Journal/Log.swift", line) for line in (3, 4, 6, 7, 10)])

    def test_file_calls_outside_of_platform_are_found(self):
        self.write("Sources/CVitrineSystem/files.c", "int vitrine_sync(int f) {\n  return vitrine_other(f);\n}\n")
        self.add("Sources/Vitrine/Journal/Log.swift", "let a = vitrine_other(1)\nlet b = vitrine_sync(1)\n")
        self.expect(("platform", "Sources/Vitrine/Journal/Log.swift", 4))

    def test_errno_values_outside_of_platform_are_found(self):
        lines = [
            "let a = SystemError(code: 5)", "let b = code == 28", "let c = EIO", "let d = errno",
            "let e = SystemError(code: Int32(5))",
            "let f = code == -28", "let g = 28 == error.code", "let h = [12, 23].contains(error.code)", "let i = EHOSTDOWN",
            "let j = error.code > 27 && a", "let k = 29 > error.code", "let l = (27...28).contains(error.code)",
            "let r = error.code - 28 == 0", "if case 28 = error.code {}", "if case .some(28) = error.code {}", "if case 28? = error?.code {}"]
        other = [
            "let m = SystemError(code: SystemError.noSpace)", "let n = Kind.EIO", "let o = [12, 23].contains(size)",
            "let p = barcode == 28", "let q = size > 27", "let s = flags.code | 1"]
        self.add("Sources/Vitrine/Journal/Log.swift", "".join(f"{line}\n" for line in lines + other))
        self.expect(*[("errno", "Sources/Vitrine/Journal/Log.swift", 3 + index) for index in range(len(lines))])

    def test_named_errno_values_are_found(self):
        lines = [
            "let a = error.code == full", "let b = Code.busy != error.code", "let c = error.code >= Self.least",
            "let d = several.contains(error.code)"]
        other = [
            "let e = error.code == SystemError.full", "let f = error.code == Names.none", "let g = size == full",
            "let full: Int32 = 28", "static let busy = CInt(16)", "var least = 27", "let several: Set<Int32> = [12, 28]"]
        self.write("Sources/Vitrine/Platform/Names.swift", "struct Names {\n  static let none: Int32 = 2\n}\n")
        self.add("Sources/Vitrine/Journal/Log.swift", "".join(f"{line}\n" for line in lines + other))
        self.expect(*[("errno", "Sources/Vitrine/Journal/Log.swift", 3 + index) for index in range(len(lines))])

    def test_errno_values_among_cases_are_found(self):
        self.add("Sources/Vitrine/Journal/Log.swift", (
            "func tell() {\n  switch error.code {\n  case 2: break\n  case 12, 28: break\n  }\n"
            "  switch code {\n  case 2: break\n  case 28: break\n  }\n  switch size {\n  case 28: break\n  }\n"
            "  switch (error.code) {\n  case 28: break\n  }\n}\n"))
        self.expect(*[("errno", "Sources/Vitrine/Journal/Log.swift", line) for line in (5, 6, 10, 16)])

    def test_long_files_are_found(self):
        for name in ("Sources/Vitrine/Journal/Log.swift", "Sources/cachectl/Get.swift", "Tests/StoreTests/StoreTests.swift"):
            self.add(name, "\n" * (400 - PROJECT[name].count("\n")))
        self.expect()
        for name in ("Sources/Vitrine/Journal/Log.swift", "Sources/cachectl/Get.swift", "Tests/StoreTests/StoreTests.swift"):
            self.add(name, "\n" * (401 - PROJECT[name].count("\n")))
        self.expect(*[("length", name, 401) for name in (
            "Sources/Vitrine/Journal/Log.swift", "Sources/cachectl/Get.swift", "Tests/StoreTests/StoreTests.swift")])

    def test_pointers_of_upper_layers_are_found(self):
        document = PROJECT["Docs/Architecture.md"]
        self.write("Docs/Architecture.md", document.replace("| 3 | `Store`", "| 5 | `Store`").replace("| 2 |", "| 4 |"))
        self.write("Sources/Vitrine/Store/Read.swift", (
            "// Takes no UnsafePointer.\nfunc read(_ bytes: UnsafeRawBufferPointer) {}\nfunc write(_ bytes: UnsafePointer<Int>) {}\n"))
        self.write("Sources/Vitrine/Store/Look.swift", "func look(_ bytes: UnsafeMutableRawBufferPointer) {}\n")
        self.write("Sources/Vitrine/Store/View.swift", "func view(_ bytes: UnsafeRawBufferPointer) {}\n")
        self.write("Sources/Vitrine/Index/Read.swift", "func readSlots(_ bytes: UnsafePointer<Int>) {}\n")
        self.expect(("pointers", "Sources/Vitrine/Store/Look.swift", 1), ("pointers", "Sources/Vitrine/Store/Read.swift", 3))

    def test_types_with_many_properties_are_found(self):
        def type_of(kind, name, count, member="  private let a{} = 1\n"):
            return f"{kind} {name} {{\n{''.join(member.format(index) for index in range(count))}"
        other = (
            "  static let b = 1\n  var c: Int { 1 }\n  var d: Int {\n    let e = 1\n    return e\n  }\n"
            "  func f(_ g: Int) {\n    let (h, i) = (1, 2)\n  }\n}\n")
        self.write("Sources/Vitrine/Store/Kind.swift", (
            type_of("final class", "Full", 12) + other + type_of("class", "Large", 13) + other
            + type_of("struct", "Pairs", 6, "  let a{0}: Int, b{0} = [1, 2]\n") + "  var c = 1 { didSet { c = 2 } }\n}\n"
            + type_of("actor", "Outer", 12) + type_of("struct", "Inner", 13) + "}\n}\n"
            + type_of("struct", "StoreOptions", 20) + "}\n" + type_of("class", "Putter", 16) + "}\n"
            + type_of("class", "Closer", 17) + "}\n"))
        self.write("Sources/cachectl/Kind.swift", type_of("struct", "Small", 12) + "}\n" + type_of("struct", "Large", 13) + "}\n")
        text = Tree(self.folder.name).read("Sources/Vitrine/Store/Kind.swift").splitlines()
        places = [text.index(f"{one} {{") + 1 for one in ("class Large", "struct Pairs", "struct Inner", "class Closer")]
        self.expect(*[("properties", "Sources/Vitrine/Store/Kind.swift", line) for line in places],
                    ("properties", "Sources/cachectl/Kind.swift", 15))

    def test_part_with_a_lock_has_the_limit_of_types_with_state(self):
        fields = "".join(f"  let a{index} = 1\n" for index in range(12))
        for number, last in enumerate((
                "let a = 1", "let a: CommitLock", "let a: UpkeepLock", "let a: EvictionLock", "let a: LevelLock<Level, State>",
                "let a = Monitor()", "let a = Monitored(0)", "let a: UnsafeMutablePointer<Int>", "let a: UnsafeMutableRawBufferPointer")):
            self.write("Sources/Vitrine/Platform/Kind.swift", f"class Putter {{\n{fields}  {last}\n}}\n")
            self.expect(*[("properties", "Sources/Vitrine/Platform/Kind.swift", 1)] * (number > 0))

    def test_initializers_with_many_parameters_are_found(self):
        def initializer(count, last="_ z: Int"):
            names = "".join(f"    a{index}: [Int: Int],\n" for index in range(count - 1))
            return f"  init(\n{names}    {last}\n  ) {{}}\n"
        self.write("Sources/Vitrine/Store/Kind.swift", (
            f"struct Small {{\n{initializer(10)}{initializer(10, 'f: @escaping (_ b: Int) -> Void')}}}\n"
            f"struct Large {{\n{initializer(11)}}}\n"
            f"extension StoreOptions {{\n{initializer(11)}}}\n"
            f"let made = Small.init({', '.join(f'a{index}: 1' for index in range(11))})\n"))
        self.write("Sources/cachectl/Kind.swift", f"struct Large {{\n{initializer(11)}}}\n")
        line = Tree(self.folder.name).read("Sources/Vitrine/Store/Kind.swift").splitlines().index("struct Large {") + 2
        self.expect(("initializers", "Sources/Vitrine/Store/Kind.swift", line), ("initializers", "Sources/cachectl/Kind.swift", 2))

    def test_types_with_state_in_many_files_are_found(self):
        for name, member in (("State", "  var a = 1\n"), ("Locked", "  let a = Guarded(1)\n"), ("Value", "  let a = 1\n")):
            part = "  struct Part {\n    var b = 1\n  }\n"
            self.write(f"Sources/Vitrine/Index/{name}.swift", f"struct {name} {{\n{member}{part}}}\n")
            for number in range(3):
                self.write(f"Sources/Vitrine/Index/{name}{number}.swift", f"extension {name} {{\n  func c() {{}}\n}}\n")
            self.write(f"Sources/Vitrine/Index/{name}.Part.swift", f"extension {name}.Part {{}}\n")
        self.expect(("spread", "Sources/Vitrine/Index/Locked.swift", 1), ("spread", "Sources/Vitrine/Index/State.swift", 1))
        for name in ("State", "Locked"):
            Path(self.folder.name, f"Sources/Vitrine/Index/{name}2.swift").unlink()
        self.expect()

    def test_types_in_many_files_are_found_in_other_modules(self):
        for module in ("cachectl", "Demo"):
            self.write(f"Sources/{module}/State.swift", "struct State {\n  var a = 1\n}\n")
            for number in range(2):
                self.write(f"Sources/{module}/State{number}.swift", "extension State {\n  func c() {}\n}\n")
        self.expect()
        self.write("Sources/Demo/State2.swift", "extension State {\n  func c() {}\n}\n")
        self.expect(("spread", "Sources/Demo/State.swift", 1))

    def test_unchecked_types_without_an_invariant_are_found(self):
        self.write("Sources/cachectl/Kind.swift", (
            "// Invariant: of another type.\n\nfinal class A: @unchecked Sendable {}\n"
            "/// B. Invariant: set only once.\n@frozen\npublic struct B:\n  @unchecked Sendable {}\n"
            "// Invariant: a is locked.\n/// C.\nclass C: @unchecked Sendable {\n"
            "  let a = 1\n\n  /// The invariant: not this.\n"
            "  private class D: @unchecked\n    Sendable {}\n}\n/// E.\nextension E: @unchecked Sendable {}\n"))
        self.expect(*[("unchecked", "Sources/cachectl/Kind.swift", line) for line in (3, 14, 18)])

    def test_bare_heading_is_no_invariant(self):
        self.write("Sources/cachectl/Kind.swift", "/// Invariant: none. It is a class of its own.\nfinal class A: @unchecked Sendable {}\n")
        self.expect(("unchecked", "Sources/cachectl/Kind.swift", 2))

    def test_unchecked_variables_without_an_invariant_are_found(self):
        self.write("Sources/cachectl/Kind.swift", (
            "enum A {\n  nonisolated(unsafe) private static var a: Int?\n"
            "  /// Invariant: set before any thread starts.\n  nonisolated(unsafe) static var b = 1\n"
            "  static func c() {\n    nonisolated(unsafe) let d = 1\n  }\n}\n"))
        self.expect(("unchecked", "Sources/cachectl/Kind.swift", 2))

    def test_second_lock_with_a_token_is_found(self):
        self.write("Sources/Vitrine/Store/Locks.swift", (
            "typealias OneLock = LevelLock<OneLevel, Void>\ntypealias TwoLock = LevelLock<TwoLevel, State>\n"))
        self.write("Sources/Vitrine/Store/Some.swift", (
            "struct Some {\n  let one = OneLock(())\n  let two = TwoLock(State())\n"
            "  func take(_ lock: TwoLock) { OneLock(()).withLock { _ in } }\n"
            "  let three = LevelLock<OneLevel, [Set<Int>]>([])\n  let four = OneLock.init(())\n}\n"))
        self.expect(*[("locks", "Sources/Vitrine/Store/Some.swift", line) for line in (4, 6, 5)])

    def test_ways_around_the_probe_are_found(self):
        lines = [
            "let a = store.core.context", "let b = store?.core?.context", "let c = core!\n  .context",
            "let d = core.writes.putter.context", "lock.withLock { held in held.state.a }", "let e = test.context",
            "let f = core.probe", "store.first.context.commitLock.withLock { h in h.state.a }", "let g: StoreParts = f()"]
        self.write("Tests/StoreTests/Some.swift", "".join(f"{line}\n" for line in lines))
        self.write("Tests/StoreTests/LockTokenTests.swift", lines[4])
        self.write("Tests/StoreTests/MustNotCompile/Token.swift", lines[0])
        self.expect(
            *[("probes", "Tests/StoreTests/Some.swift", line) for line in (1, 2, 3, 5, 6, 9, 10)], ("core", "Tests/StoreTests/Some.swift", 1))

    def test_uses_of_the_core_are_found_under_any_name(self):
        self.write("Tests/StoreTests/Some.swift", (
            "let a = store.core.probe\nlet b = store.core?\n  .probe\nlet c = disk.core.files\n"
            "let engine = store.core\nengine.context.commit()\nlet path = \\Store\n  .core\nlet d = store.core.reads\n"
            "let e: StoreCore = f()\n"))
        self.expect(("core", "Tests/StoreTests/Some.swift", 5))
        found = self.found()[0]
        self.assertEqual((found.size, found.text.split(": ")[1]), (4, "lines 5, 8, 9, 10"))

    def test_traits_in_many_files_are_found(self):
        self.write("Package.swift", "let traits = [.trait(\n  name: \"Images\"), .trait(name: \"Server\")]\n")
        for number in range(9):
            self.write(f"Sources/cachectl/Kind{number}.swift", "#if Images\n#endif\n")
        self.write("Sources/cachectl/Other.swift", "// #if Images\n#if ImagesToo || Server\n#endif\n")
        self.expect()
        self.write("Tests/StoreTests/Some.swift", "#if Server\n#elseif !Images\n#endif\n")
        self.expect(("traits", "Package.swift", 1))

    def test_wide_code_is_found_and_a_wide_comment_is_not(self):
        self.add("Sources/Vitrine/Journal/Log.swift", f"let a = \"{'a' * 120}\"\n// {'b' * 130}\n")
        self.expect(("width", "Sources/Vitrine/Journal/Log.swift", 3))

    def test_public_symbols_without_documentation_are_found(self):
        self.write("Sources/Vitrine/Store/Kind.swift", (
            "/// A kind.\n@frozen\npublic enum Kind {\n  case one\n  /// Two.\n  case two\n  public init() {}\n"
            "  func hidden() { switch self {\n    case .one: break\n  } }\n  public static func == (a: Kind, b: Kind) -> Bool { true }\n}\n"
            "/// A cache.\npublic protocol Cache {\n  func get()\n  /// Puts.\n  func put()\n}\n"))
        self.expect(*[("undocumented", "Sources/Vitrine/Store/Kind.swift", line) for line in (4, 7, 15)])

    def test_members_of_public_extensions_are_found(self):
        self.write("Sources/Vitrine/Store/Kind.swift", (
            "public extension Store\nwhere Table: Sendable {\n  func read() {\n    let inner = 1\n  }\n  static var one: Int { 1 }\n"
            "  private func hidden() {}\n  internal var two: Int { 2 }\n  init(a: Int) {}\n  /// Three.\n  func three() {}\n"
            "  enum Kind {\n    case four\n    func inside() {}\n  }\n  typealias Five = Int\n}\n"
            "extension Store {\n  func six() {}\n}\n"))
        self.expect(*[("undocumented", "Sources/Vitrine/Store/Kind.swift", line) for line in (3, 6, 9, 12, 13, 16)])

    def test_ordinary_comment_is_no_documentation(self):
        self.write("Sources/Vitrine/Store/Kind.swift", (
            "/* One. */\npublic let one = 1\n/*\n Two.\n */\npublic let two = 2\n/** Three. */\npublic let three = 3\n"
            "/**\n Four.\n */\n@frozen\npublic struct Four {}\n// Five.\npublic let five = 5\n///\npublic let six = 6\n"))
        self.expect(*[("undocumented", "Sources/Vitrine/Store/Kind.swift", line) for line in (2, 6, 15, 17)])

    def test_citations_of_missing_things_are_found(self):
        missing = [
            "`Store/Gone.swift`", "`Docs/Gone.md`", "`GoneTests`", "`StoreTests/storeIsGone`", "`storeIsGone`", "`Store.isGone`",
            "`Gone`", "`Store.gone`", "`Store.name`", "`localName`", "`Gone.table`", "`CLOCK`", "`Table.Gone`",
            "`make gone`", "`make test GONE=1`", "`cachectl gone`", "`cachectl get --gone`", "`--gone`", "`scripts/gone`",
            "`scripts/run --gone`", "`VITRINE_GONE=1`"]
        self.add("Sources/Vitrine/Index/Table.swift", "func get() {\n  let localName = 1\n  localName.run()\n}\n")
        self.add("README.md", "".join(f"{one}\n" for one in missing))
        first = PROJECT["README.md"].count("\n") + 1
        self.expect(*[("cited", "README.md", first + index) for index in range(len(missing))])

    def test_declared_names_may_be_cited(self):
        self.write("Sources/Vitrine/Index/More.swift", (
            "typealias Tables = Table\n"
            "extension Table {\n  enum Kind {\n    case oneCase(Int), another\n  }\n  func getIt() {}\n}\n"))
        self.add("README.md", (
            "`Table.code` `Tables.code` `Tables.getIt()` `Table.Kind.oneCase` `Kind.another` `oneCase` `STORE` `ENOSPC` `SIGBUS` "
            "`Index` `cachectl` `Sendable` `URLSession.shared`\n"))
        self.expect()

    def test_other_documents_are_read(self):
        self.write("Benchmarks/Engines/README.md", "`Gone`\n")
        self.write("Python/store/a.py", "class Cache:\n  def lookUp(self): pass\n")
        self.write("Python/src/a.c", "{ERROR, \"vitrine.ClosedError\"},\n")
        self.write("Python/README.md", "[a](../Gone.md) `Cache` `lookUp` `ClosedError`\n`OpenError`\n")
        self.expect(
            ("cited", "Benchmarks/Engines/README.md", 1), ("cited", "Python/README.md", 2), ("link", "Python/README.md", 1))

    def test_examples_with_missing_goals_are_found(self):
        self.add("README.md", "\n```\nmake gone   # all\n.build/release/cachectl get --gone\n```\n")
        first = PROJECT["README.md"].count("\n") + 3
        self.expect(("cited", "README.md", first), ("cited", "README.md", first + 1))

    def test_broken_links_are_found(self):
        self.add("README.md", (
            "[a](Docs/Gone.md) [b](Docs/Architecture.md#gone) [c](https://example.org/gone)\n[d](Docs/Gone.md \"D\")\n"
            "[e][E] [f][gone] [G][] `a[b][c]`\n[e]: Docs/Gone.md 'E'\n[g]: <Docs/Architecture.md#the-picture> \"G\"\n"))
        line = PROJECT["README.md"].count("\n") + 1
        places = sorted(f.line - line for f in self.found() if (f.rule, f.file) == ("link", "README.md"))
        self.assertEqual(places, [0, 0, 1, 2, 3], [str(f) for f in self.found()])

    def test_words_are_counted_in_prose_alone(self):
        self.write("Sources/Vitrine/Store/Kind.swift", "let who = \"nobody\" // Who says what?\n// Somebody, and\n// whatever.\n")
        self.write("README.md", "Nobody is there. `who`\n\n```\nwhat\n```\n")
        words, found = language.counts(Tree(self.folder.name))
        self.assertEqual(words["Docs"], 10)
        places = {key: [(f.file, f.line) for f in some] for key, some in found.items()}
        self.assertEqual(places, {
            ("who", "Sources/Vitrine"): [("Sources/Vitrine/Store/Kind.swift", 1)],
            ("nobody", "Sources/Vitrine"): [("Sources/Vitrine/Store/Kind.swift", 2)],
            ("what", "Sources/Vitrine"): [("Sources/Vitrine/Store/Kind.swift", 3)], ("nobody", "Docs"): [("README.md", 1)]})

    def test_names_and_texts_of_tests_are_prose(self):
        name = "Tests/StoreTests/Some.swift"
        self.write(name, (
            "// Who?\n@Test func whatIsGoneIsAMiss() {\n  let what = \"what\"\n  #expect(held == 0, \"nobody \\(what) waits\")\n}\n"
            "@Test(arguments: [\"a\"]) func `nobody waits`() {}\n"))
        words, found = language.counts(Tree(self.folder.name))
        places = {rule: [f.line for f in some] for (rule, where), some in found.items() if where == "Tests"}
        self.assertEqual(places, {"who": [1], "what": [2], "nobody": [4, 6]})
        self.assertEqual(words["Tests"], 1 + 6 + 2 + 2 + 4)

    def test_explanations_of_planted_mistakes_are_prose(self):
        name = "Tests/Mutants/1-rules.mutants"
        self.write(name, (
            "Who says `what`?\n\n== nobody-stops\nNobody\nstops.\nfile: Who.swift\n   what()\n-  // who\n@\n+  // nobody\n"
            "catch: Who\nredundant: It stops, whatever\nis written.\ntrap: nobody stops\nhang: for whom\n\n== what\nIt waits.\n"))
        words, found = language.counts(Tree(self.folder.name))
        self.assertEqual(words["Tests"], 15 + 4)  # with the name of the project's test
        places = {rule: [f.line for f in some] for (rule, where), some in found.items() if where == "Tests"}
        self.assertEqual(places, {"who": [1, 15], "nobody": [4, 14], "what": [12]})

    def test_known_places_and_counts_may_only_shrink(self):
        self.write(FILE, "errno Log.swift EIO\nerrno Log.swift gone\nwhat Docs 2\nwidth Docs 3\n")
        tree = Tree(self.folder.name)
        known = Finding("Sources/Vitrine/New/Log.swift", 3, "errno", "", "", "EIO")
        other = Finding("Sources/Vitrine/New/Log.swift", 4, "errno", "", "", "EPERM")
        whats = [Finding("README.md", line, "what", "", "", "Docs") for line in (1, 2, 3)]
        debts = Debts(tree)
        new, met, counted = judge([known, other, *whats], {"Docs": 100}, tree, debts, {("README.md", 3)})
        self.assertEqual([(f.rule, f.line) for f in new], [("errno", 4), ("debts", 2), ("what", 3)])
        self.assertEqual(judge([known], {"Docs": 15_000}, tree, debts, set())[0][0].rule, "debts")
        self.assertEqual(len(judge(whats, {"Docs": 15_000}, tree, debts, set())[0]), 2)  # of places that are gone
        lower(debts, met, counted)
        self.assertEqual((list(debts.places), debts.counts), ([("errno", "Log.swift", "EIO")], {("what", "Docs"): 2, ("width", "Docs"): 0}))
        self.write(FILE, debts.text())
        again = Debts(Tree(self.folder.name))
        self.assertEqual((list(again.places), again.counts), (list(debts.places), {("what", "Docs"): 2}))

    def test_sizes_of_known_places_may_only_shrink(self):
        self.write(FILE, "length Log.swift 500\nproperties Log.swift Log.State 14\ncore Gone.swift 2\n")
        tree = Tree(self.folder.name)
        debts = Debts(tree)

        def findings(length, count):
            return [
                Finding("Sources/Vitrine/Log.swift", 401, "length", "", "", size=length),
                Finding("Sources/Vitrine/Log.swift", 3, "properties", "", "", "Log.State", count)]
        new, met, counted = judge(findings(501, 14), {}, tree, debts, set())
        self.assertEqual([(f.rule, f.line) for f in new], [("length", 401), ("debts", 3)])
        self.assertIn("before: 500", new[0].text)
        new, met, counted = judge(findings(450, 13), {}, tree, debts, set())
        self.assertEqual([(f.rule, f.line) for f in new], [("debts", 3)])
        lower(debts, met, counted)
        self.write(FILE, debts.text())
        self.assertIn("\nlength Log.swift 450\nproperties Log.swift Log.State 13\n", debts.text())
        again = Debts(Tree(self.folder.name))
        self.assertEqual((again.sizes, set(again.places)), (debts.sizes, set(debts.places)))

    def test_names_that_git_would_quote_are_files(self):
        self.git("init", "-q")
        names = ["a b.swift", "\x13" * 60, '"quoted".md', "ü.swift"]
        for name in names:
            self.write(name, "a\n")
        self.assertLessEqual(set(names), set(Tree(self.folder.name).files))

    def test_missing_base_of_subjects_is_found(self):
        self.git("init", "-q")
        self.assertEqual(list(commits.check_subjects(Tree(self.folder.name))), [])
        self.git("commit", "-q", "--allow-empty", "-m", "a" * 80)
        self.git("commit", "-q", "--allow-empty", "-m", "b")
        found = list(commits.check_subjects(Tree(self.folder.name)))
        self.assertEqual([f.rule for f in found], ["subject"])
        self.assertIn("is not in this repository", found[0].text)
        # The oldest commit of a shallow clone is an ordinary one, too.
        for depth, texts in ((1, []), (2, ["80 characters"])):
            with tempfile.TemporaryDirectory() as clone:
                self.git("clone", "-q", f"--depth={depth}", f"file://{self.folder.name}", clone)
                found = list(commits.check_subjects(Tree(clone)))
                self.assertEqual([f.text[:13] for f in found], texts)

    def test_long_subjects_behind_the_base_are_found(self):
        self.assertEqual(list(commits.check_subjects(Tree(self.folder.name))), [])
        self.git("init", "-q")
        base, commits.BASE = commits.BASE, "base"
        self.addCleanup(setattr, commits, "BASE", base)
        self.git("commit", "-q", "--allow-empty", "-m", "a" * 80)
        self.git("tag", "base")
        self.assertEqual(list(commits.check_subjects(Tree(self.folder.name))), [])
        self.git("commit", "-q", "--allow-empty", "-m", "b" * 73)
        self.git("commit", "-q", "--allow-empty", "-m", "c" * 72)
        found = list(commits.check_subjects(Tree(self.folder.name)))
        self.assertEqual([(f.rule, f.file) for f in found], [("subject", f"commit {self.git('rev-parse', '--short', 'HEAD~1')}")])

    def test_ignored_files_do_not_count(self):
        self.write(".gitignore", ".build/\n")
        self.write(".build/README.md", "`GoneTests`\n")
        self.expect()
        self.git("init", "-q")
        self.expect()

    def test_code_is_equal_where_only_comments_differ(self):
        one = "/// A.\nlet a = \"// b\" // c\n\n  let d = 1\n"
        self.assertEqual(sourcetext.code_alone(one), "let a = \"// b\"\nlet d = 1")
        self.assertNotEqual(sourcetext.code_alone(one), sourcetext.code_alone(one.replace("// b", "// e")))


def run():
    loader = unittest.defaultTestLoader
    cases = (TidyTests, mutantstest.CatcherTests, mutantstest.RecordTests)
    suite = unittest.TestSuite(loader.loadTestsFromTestCase(case) for case in cases)
    suite.addTests(loader.loadTestsFromModule(clustertest))
    return 0 if unittest.TextTestRunner(verbosity=0).run(suite).wasSuccessful() else 1
