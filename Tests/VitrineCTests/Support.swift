import CVitrine
import Foundation
import Testing
import Vitrine

@testable import VitrineC

/// A store that is opened by the C interface in a temporary folder.
final class TestStore {
  let folder: String
  let handle: OpaquePointer

  init(_ set: (inout vitrine_options) -> Void = { _ in }) throws {
    folder = FileManager.default.temporaryDirectory.appending(path: "vitrine-c-\(UUID())").path
    handle = try TestStore.open(folder, set)
  }

  deinit {
    vitrine_store_release(handle)
    try? FileManager.default.removeItem(atPath: folder)
  }

  static func open(_ folder: String, _ set: (inout vitrine_options) -> Void = { _ in }) throws -> OpaquePointer {
    var options = vitrine_options()
    options.size = MemoryLayout<vitrine_options>.size
    options.byte_budget = 16 << 20
    set(&options)
    var store: OpaquePointer?
    var error = vitrine_error()
    let status = vitrine_open(folder, &options, &store, &error)
    return try #require(store, "status \(status): \(error.message)")
  }

  /// The store behind the handle.
  var store: CacheStore {
    get throws { try #require(storeForTests(handle)) }
  }

  func put(_ bytes: [UInt8], _ url: String, style: String? = nil) -> vitrine_status {
    vitrine_put(handle, url, url.utf8.count, style, style?.utf8.count ?? 0, bytes, bytes.count, nil, nil)
  }

  /// A copy of the bytes that a borrow sees; nil on a miss.
  func borrowed(_ url: String, style: String? = nil) -> [UInt8]? {
    var result: [UInt8]?
    let status = withUnsafeMutablePointer(to: &result) { result in
      vitrine_borrow(
        handle, url, url.utf8.count, style, style?.utf8.count ?? 0,
        { context, bytes, count in
          context!.assumingMemoryBound(to: [UInt8]?.self).pointee = Array(
            UnsafeRawBufferPointer(start: bytes, count: count))
        }, result)
    }
    return status == VITRINE_OK ? result : nil
  }
}

extension vitrine_error {
  var message: String {
    withUnsafeBytes(of: text) { String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self) }
  }
}

func == (status: vitrine_status, constant: Int) -> Bool { Int(status) == constant }

/// The root of this repository.
var root: URL {
  var folder = URL(filePath: #filePath)
  for _ in 0..<3 { folder.deleteLastPathComponent() }
  return folder
}

/// The names in `Symbols.txt`, which compiled programs use.
func pinnedSymbols() throws -> [String] {
  try String(contentsOf: root.appending(path: "Tests/VitrineCTests/Symbols.txt"), encoding: .utf8)
    .split(separator: "\n").map(String.init)
}
