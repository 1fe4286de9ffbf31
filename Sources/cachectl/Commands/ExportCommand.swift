import CacheCtlKit
import Glibc
import Vitrine

enum ExportCommand: Command {
  static let specification = CommandSpecification(
    name: "export", summary: "write every value into a folder, one file each",
    positionals: [.required("STORE"), .required("FOLDER")], options: [.reads, .json],
    notes: [
      "FOLDER is made if it is missing. A key's file is FOLDER/STYLE/URL, the URL split at its slashes. No URL "
        + "leads outside FOLDER. Symbolic links inside FOLDER are not followed. A file that already exists is not "
        + "overwritten: it is named on stderr, and the exit status is 1.",
      "Two keys never share a file, and the key can be read back from the path. %XX stands for a byte that file "
        + "systems reserve or that is not UTF-8. %e is an empty name. A file's name has an extension, and a folder's "
        + "name has none; a folder's name with an extension ends in %d, and a file's name without one ends in %f. "
        + "A name of more than 240 bytes continues in folders that end in %c; a URL of more than 64 names is in %l as "
        + "one name. So "
        + "https://a.org/b.jpg is in original/https%3A/%e/a.org%d/b.jpg.",
      "With --json, one object a line: url, style, bytes, file, and bitmap for a bitmap. Expired and lost entries are "
        + "left out; a damaged one is named and makes the exit status 1.",
    ],
    examples: [.init("cachectl export photos.cache out", "export all entries")])

  static var isCutShortByClosedOutput: Bool { true }

  static func run(_ arguments: Arguments, _ output: Output) throws -> ExitStatus {
    let path = try Stores.path(arguments)
    return try Stores.read(arguments) { store in
      try checkOutside(path, arguments)
      let folder = try DestinationFolder(arguments.positionals[1])
      let keys = try store.keysInOrder()
      var reader = Reader(store)
      let progress = Progress("export")
      var done = (files: 0, bytes: 0, problems: 0)
      for (index, key) in keys.enumerated() {
        progress.show(index, of: keys.count)
        do {
          guard let byteCount = try write(key, from: &reader, into: folder) else { continue }
          done.files += 1
          done.bytes += byteCount
          if arguments.has(.json) { try output.write(line(key, byteCount, store) + "\n") }
        } catch let failure as Failure where failure.status == .problemFound {
          progress.clear()
          Diagnostics.write("cachectl export: \(failure.message)\n")
          done.problems += 1
        }
      }
      progress.clear()
      if !arguments.has(.json) {
        try output.write(
          "exported \(Quantity.count(done.files, "file", "files")), \(Quantity.bytes(done.bytes))\n")
        if done.problems > 0 {
          try output.write("left out \(Quantity.count(done.problems, "key", "keys"))\n")
        }
      }
      return done.problems == 0 ? .done : .problemFound
    }
  }

  /// Returns the bytes written; nil if there is nothing to write and no error.
  private static func write(_ key: CacheKey, from reader: inout Reader, into folder: DestinationFolder) throws
    -> Int?
  {
    let names = ExportPath.names(for: key)
    var byteCount = 0
    let reason = try reader.get(key) { bytes in
      do {
        try folder.create(names) { file in
          try Output(descriptor: file.raw, name: printable(file.path)).write(bytes)
        }
      } catch let failure as Failure where failure.isAlreadyThere {
        throw Failure("already there: \(names.joined(separator: "/"))", status: .problemFound)
      }
      byteCount = bytes.byteCount
    }
    guard let reason else { return byteCount }
    if reason == .damaged {
      throw Failure("damaged: \(printable(key.url)) (\(key.style))", status: .problemFound)
    }
    return nil
  }

  private static func line(_ key: CacheKey, _ byteCount: Int, _ store: CacheStore) -> String {
    let file = ExportPath.names(for: key).joined(separator: "/")
    var members = JSON.members(key: key) + [("bytes", .int(byteCount)), ("file", .string(file))]
    if case .found(let entry) = store.lookup(key), let layout = entry.layout {
      members.append(("bitmap", .layout(layout)))
    }
    return JSON.object(members).line
  }

  /// Refuses to write files of an export into a store.
  private static func checkOutside(_ path: String, _ arguments: Arguments) throws {
    guard let store = FileIdentity(path: path) else { return }
    var folder = arguments.positionals[1]
    // Up to the root, or as far as the path can be followed; the depth of a path is limited.
    for _ in 0..<256 {
      let text = String(decoding: folder, as: UTF8.self)
      if FileIdentity(path: text) == store { throw arguments.fail("FOLDER lies inside the store") }
      if FileIdentity(path: text) == FileIdentity(path: "/") { return }
      if FileIdentity(path: text) == nil, let slash = folder.lastIndex(of: UInt8(ascii: "/")) {
        folder = slash == 0 ? Array("/".utf8) : Array(folder[..<slash])
      } else if FileIdentity(path: text) == nil {
        folder = Array(".".utf8)
      } else {
        folder += Array("/..".utf8)
      }
    }
  }
}
