import Foundation
import Testing

/// On a full disk of a real file system, everything except puts works, also after the process was killed.
@Suite(.serialized) struct FullFileSystemTests {
  private func opening(_ folder: String, budget: Int = 8 << 20) -> String {
    "open \(folder)/store budget=\(budget) wait=5000"
  }

  /// Runs on every machine: a limit of the process keeps all files from becoming longer than the present ones.
  @Test func fileSizeLimitKeepsReadsAndRemovalsWorking() throws {
    let folder = try TestFolder()
    print("a full disk, by RLIMIT_FSIZE")
    var process = try StoreProcess()
    // With this budget, later segments are longer than the first ones.
    let open = opening(folder.path, budget: 32 << 20)
    #expect(try process.ask(open) == "done")
    #expect(try process.ask("puts before 200 9000") == "done")
    // The log and the checkpoints are shorter, the first segments have this length.
    #expect(try process.ask("limit 65536") == "done")
    var left = 200
    for round in 0..<4 {
      #expect(try removeOne("before", of: 200, in: process))
      left -= 1
      process.kill()
      process = try StoreProcess()
      #expect(try process.ask("limit 65536") == "done")
      #expect(try process.ask(open) == "done", "the disk is full, and the store opens")
      #expect(try survivors(process) == left)
      #expect(try process.ask("verify") == "done")
      if round == 2 {
        #expect(try process.ask("close") == "done")
        #expect(try process.ask(open) == "done")
      }
    }
    // Removed entries make no room for new ones.
    #expect(try process.ask("puts during 200 9000") == "error noSpace")
    #expect(try process.ask("verify") == "done")
    #expect(try process.ask("limit none") == "done")
    #expect(try process.ask("puts after 200 9000") == "done")
    #expect(try process.ask("has after 200 9000") == "done")
    #expect(try process.ask("verify") == "done")
    #expect(try process.ask("close") == "done")
  }

  /// The number of the first entries that exist, all of them intact.
  private func survivors(_ process: StoreProcess) throws -> Int {
    let answer = try process.ask("left before 200 9000")
    return try #require(Int(answer), "\(answer)")
  }

  /// Removes the first entry that still exists.
  private func removeOne(_ name: String, of count: Int, in process: StoreProcess) throws -> Bool {
    try (0..<count).contains { try process.ask("remove \(name)/\($0) synced") == "done" }
  }

  @Test func testedFileSystemsAreReported() {
    let forms = SmallDisk.Form.mountable.map(\.rawValue).joined(separator: " and ")
    print("a full disk, besides RLIMIT_FSIZE: \(forms.isEmpty ? "none, for nothing may be mounted here" : forms)")
    // Root may mount, unless a sandbox prevents it; then the line above says so.
    #expect(getuid() != 0 || !forms.isEmpty || !isPermitted("mount -t tmpfs none /mnt"))
  }

  private func isPermitted(_ command: String) -> Bool {
    let process = Process()
    process.executableURL = URL(fileURLWithPath: "/usr/bin/unshare")
    process.arguments = ["--mount", "sh", "-c", command]
    process.standardError = FileHandle.nullDevice
    guard (try? process.run()) != nil else { return false }
    process.waitUntilExit()
    return process.terminationStatus == 0
  }

  @Test(arguments: SmallDisk.Form.mountable)
  func fullDiskRefusesOnlyPutsThatNeedMoreRoom(_ form: SmallDisk.Form) throws {
    let disk = try SmallDisk(form, mebibytes: 16)
    print("a full disk, \(form.rawValue)")
    let open = opening(disk.path)
    var process = try StoreProcess(launcher: disk.launcher)
    #expect(try process.ask(open) == "done")
    #expect(try process.ask("puts before 200 9000") == "done")
    #expect(try process.ask("put kept value synced") == "done")
    try disk.fill()
    // Puts make room for themselves by evicting entries of the store.
    #expect(try process.ask("puts during 300 9000") == "done")
    #expect(try Int(process.ask("evicted")) ?? 0 > 50)
    #expect(Int(try process.ask("left during 300 9000")) ?? 0 > 50)
    #expect(try process.ask("verify") == "done")
    // A put that needs more than all of that is refused.
    try disk.fill()
    #expect(try process.ask("puts huge 1 6000000") == "error noSpace")
    var left = 0
    for round in 0..<5 {
      // The process is killed while the disk has no free byte.
      process.kill()
      try disk.fill()
      process = try StoreProcess(launcher: disk.launcher)
      #expect(try process.ask(open) == "done", "a store opens on a full disk, after death \(round)")
      #expect(try process.ask("verify") == "done")
      left = try #require(Int(process.ask("left during 300 9000")))
      if left > 0 {
        #expect(try removeOne("during", of: 300, in: process))
        #expect(try process.ask("left during 300 9000") == "\(left - 1)")
      }
      if round == 3 {
        #expect(try process.ask("close") == "done")
        try disk.fill()
        #expect(try process.ask(open) == "done")
      }
    }
    try disk.free()
    #expect(try process.ask("puts after 300 9000") == "done")
    #expect(try process.ask("has after 300 9000") == "done")
    #expect(try process.ask("puts large 1 2000000") == "done")
    #expect(try process.ask("has large 1 2000000") == "done")
    #expect(try process.ask("verify") == "done")
    #expect(try process.ask("close") == "done")
  }

  /// A store that cannot be made leaves no file that would be taken for a store.
  @Test(arguments: SmallDisk.Form.mountable)
  func aStoreThatDoesNotFitIsNotMadeUntilThereIsRoom(_ form: SmallDisk.Form) throws {
    let disk = try SmallDisk(form, mebibytes: 16)
    let open = opening(disk.path)
    try FileManager.default.createDirectory(atPath: disk.outside + "/store", withIntermediateDirectories: false)
    try disk.fill()
    let process = try StoreProcess(launcher: disk.launcher)
    #expect(try process.ask(open) == "error noSpace")
    #expect(!FileManager.default.fileExists(atPath: disk.outside + "/store/STORE"))
    try disk.free()
    #expect(try process.ask(open) == "done")
    #expect(try process.ask("put a 1 synced") == "done")
    #expect(try process.ask("close") == "done")
  }

  @Test(arguments: SmallDisk.Form.mountable)
  func aMediumThatBecameReadOnlyIsReadAndNotTouched(_ form: SmallDisk.Form) throws {
    let disk = try SmallDisk(form, mebibytes: 16)
    let open = opening(disk.path)
    var process = try StoreProcess(launcher: disk.launcher)
    #expect(try process.ask(open) == "done")
    #expect(try process.ask("puts key 100 9000") == "done")
    #expect(try process.ask("put last value synced") == "done")
    process.kill()
    try disk.remount("ro")
    let before = try TestFolder.everything(in: disk.outside + "/store")
    process = try StoreProcess(launcher: disk.launcher)
    #expect(try process.ask(open) == "error system 30")
    #expect(try process.ask("open \(disk.path)/store readonly") == "done")
    #expect(try process.ask("has key 100 9000") == "done")
    #expect(try process.ask("get last") == "value")
    #expect(try process.ask("verify") == "done")
    #expect(try process.ask("put a 1") == "error readOnly")
    #expect(try process.ask("close") == "done")
    #expect(try TestFolder.everything(in: disk.outside + "/store") == before)
    try disk.remount("rw")
    #expect(try process.ask(open) == "done")
    #expect(try process.ask("has key 100 9000") == "done")
    #expect(try process.ask("put a 1 synced") == "done")
    #expect(try process.ask("close") == "done")
  }
}
