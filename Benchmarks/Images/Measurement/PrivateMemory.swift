import Foundation

/// This process's memory as the system reports it, in bytes. Linux only.
struct PrivateMemory: Codable, Sendable {
  var privateDirty = 0
  var anonymous = 0
  /// Clean pages of files: the system can drop them at any time without loss.
  var privateClean = 0
  var sharedClean = 0
  var resident = 0

  init() {}

  /// Returns the present values.
  static func current() throws -> PrivateMemory {
    guard let text = try? String(contentsOfFile: "/proc/self/smaps_rollup", encoding: .utf8) else {
      throw BenchError("this system has no /proc/self/smaps_rollup")
    }
    var memory = PrivateMemory()
    for line in text.split(separator: "\n") {
      let words = line.split(separator: " ")
      guard words.count >= 2, let count = Int(words[1]) else { continue }
      switch words[0] {
      case "Private_Dirty:": memory.privateDirty = count * 1024
      case "Anonymous:": memory.anonymous = count * 1024
      case "Private_Clean:": memory.privateClean = count * 1024
      case "Shared_Clean:": memory.sharedClean = count * 1024
      case "Rss:": memory.resident = count * 1024
      default: break
      }
    }
    return memory
  }

  static func - (a: PrivateMemory, b: PrivateMemory) -> PrivateMemory {
    var difference = PrivateMemory()
    difference.privateDirty = a.privateDirty - b.privateDirty
    difference.anonymous = a.anonymous - b.anonymous
    difference.privateClean = a.privateClean - b.privateClean
    difference.sharedClean = a.sharedClean - b.sharedClean
    difference.resident = a.resident - b.resident
    return difference
  }
}
