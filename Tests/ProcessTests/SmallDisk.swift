import Foundation

/// A small disk of one test: a file system in a mount namespace that a separate process keeps. No other process
/// sees it, and it ends with that process.
final class SmallDisk {
  enum Form: String, CaseIterable {
    case tmpfs, ext4

    /// The forms that this machine allows a test to mount.
    static let mountable = allCases.filter { (try? SmallDisk($0, mebibytes: 16)) != nil }
  }

  struct NotPermitted: Error { let text: String }

  /// The mount point, for processes that ``launcher`` starts.
  let path: String
  private let keeper = Process()
  private let input = Pipe()
  private let folder: TestFolder
  private let isOwnUser: Bool

  init(_ form: Form, mebibytes: Int) throws {
    folder = try TestFolder()
    path = folder.path + "/disk"
    isOwnUser = getuid() != 0
    try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
    let image = folder.path + "/image"
    let mount =
      switch form {
      case .tmpfs: "mount -t tmpfs -o size=\(mebibytes)m none '\(path)'"
      case .ext4:
        "truncate -s \(mebibytes)M '\(image)' && mkfs.ext4 -q -F -m 0 '\(image)' && mount -o loop '\(image)' '\(path)'"
      }
    let output = Pipe()
    keeper.executableURL = URL(fileURLWithPath: "/usr/bin/unshare")
    // The process lives until its input ends.
    let script = "PATH=$PATH:/usr/sbin:/sbin; \(mount) && chmod 700 '\(path)' && echo mounted && read line"
    keeper.arguments = ["--mount"] + (isOwnUser ? ["--map-root-user"] : []) + ["sh", "-c", script]
    keeper.standardInput = input
    keeper.standardOutput = output
    keeper.standardError = FileHandle.nullDevice
    try keeper.run()
    let said = String(decoding: output.fileHandleForReading.availableData, as: UTF8.self)
    if said != "mounted\n" { throw NotPermitted(text: "\(form) cannot be mounted here") }
  }

  deinit {
    try? input.fileHandleForWriting.close()
    keeper.waitUntilExit()
  }

  /// The command that starts a program which sees the disk.
  var launcher: [String] {
    let user = isOwnUser ? ["--user", "--preserve-credentials"] : []
    return ["/usr/bin/nsenter", "--target", "\(keeper.processIdentifier)", "--mount"] + user
  }

  /// The path of the disk for this process.
  var outside: String { "/proc/\(keeper.processIdentifier)/root\(path)" }

  /// Takes every free byte.
  func fill() throws {
    let file = open(outside + "/filler", O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0o600)
    guard file >= 0 else { throw NotPermitted(text: "\(outside): \(String(cString: strerror(errno)))") }
    defer { close(file) }
    for count in [1 << 20, 4096, 1] {
      let zeros = [UInt8](repeating: 0, count: count)
      while write(file, zeros, count) > 0 {}
    }
    fsync(file)
  }

  func free() throws { try FileManager.default.removeItem(atPath: outside + "/filler") }

  func remount(_ options: String) throws {
    let process = Process()
    process.executableURL = URL(fileURLWithPath: launcher[0])
    process.arguments = Array(launcher.dropFirst()) + ["mount", "-o", "remount,\(options)", path]
    try process.run()
    process.waitUntilExit()
    if process.terminationStatus != 0 { throw NotPermitted(text: "the disk cannot be mounted again as \(options)") }
  }
}
