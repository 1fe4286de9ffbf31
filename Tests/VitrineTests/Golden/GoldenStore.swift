import Foundation
import Testing

@testable import Vitrine

/// A store of a finished format: an archive in `Tests/Golden`, and the list of its expected values.
struct GoldenStore: CustomTestStringConvertible {
  enum Kind: String, CaseIterable {
    /// Closed.
    case clean
    /// Left after two deaths, with changes in the log that no checkpoint covers.
    case killed
    /// After a power loss. One synced value is only in the log.
    case torn
    /// The killed one with both checkpoints damaged: only removed keys may return.
    case rebuilt
  }

  let version: Int
  let kind: Kind
  let entries: [GoldenEntry]

  var testDescription: String { "format \(version), \(kind.rawValue)" }

  private static let folder = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
    .deletingLastPathComponent().appending(path: "Golden").path

  /// All golden stores.
  static let all: [GoldenStore] = {
    let names = (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []
    return names.sorted().compactMap { Int($0.dropFirst()) }.flatMap { version in
      Kind.allCases.map { GoldenStore(version: version, kind: $0) }
    }
  }()

  private init(version: Int, kind: Kind) {
    self.version = version
    self.kind = kind
    let list = (try? Files.read("\(GoldenStore.folder)/v\(version)/\(kind.rawValue).entries")) ?? []
    entries = String(decoding: list, as: UTF8.self).split(separator: "\n").filter { !$0.hasPrefix("#") }
      .compactMap { GoldenEntry(line: $0) }
  }

  /// Unpacks the store into a folder, under the name `store`.
  func unpack(into folder: String) throws {
    let process = Process()
    process.executableURL = URL(fileURLWithPath: "/usr/bin/tar")
    process.arguments = [
      "-xzf", "\(GoldenStore.folder)/v\(version)/\(kind.rawValue).tar.gz", "-C", folder,
    ]
    try process.run()
    process.waitUntilExit()
    try #require(process.terminationStatus == 0)
  }

  /// Its files, by their paths in it.
  func files() throws -> [String: [UInt8]] {
    let folder = try TemporaryFolder()
    try unpack(into: folder.path)
    let names = try Files.below(folder.store)
    return Dictionary(uniqueKeysWithValues: try names.map { ($0, try Files.read("\(folder.store)/\($0)")) })
  }

  /// Checks all entries of the list. Checks `isShared` only with `isFresh`.
  func check(_ store: CacheStore, changed: Set<CacheKey> = [], isFresh: Bool = true) throws {
    for entry in entries where !changed.contains(entry.key) {
      let name = Comment(rawValue: "\(testDescription): \(entry.key.urlText) \(entry.key.style)")
      guard entry.isThere else {
        if kind != .rebuilt { #expect(store.bytes(entry.key) == nil, name) }
        continue
      }
      let bytes = entry.bytes
      #expect(store.bytes(entry.key) == bytes, name)
      guard case .found(let info) = store.lookup(entry.key) else {
        Issue.record("\(name) is not there")
        continue
      }
      #expect(info.metadata == entry.metadata, name)
      #expect(info.expirationMilliseconds == entry.expiration, name)
      #expect(info.slidingExpirationMilliseconds == entry.sliding, name)
      #expect(info.layout == entry.layout, name)
      #expect(info.source?.bytes ?? [] == entry.source && info.hasNamedSource == entry.hasNamedSource, name)
      #expect("\(info.encoding)" == entry.encoding, name)
      #expect(info.writtenMilliseconds == entry.written, name)
      if isFresh { #expect(info.isShared == entry.isShared, name) }
      #expect(bytes.withUnsafeBytes { Digest(of: $0) } == info.digest, name)
    }
  }

  /// Checks that no key outside the list has a value. A rebuilt store may have removed keys.
  func checkCount(_ store: CacheStore) {
    // An expired entry counts until upkeep has found it.
    let there = Set(entries.filter(\.isThere).map(\.key))
    let found = (try? store.keysInOrder()) ?? []
    #expect(there.isSubset(of: found), "\(testDescription)")
    let extra = found.filter { !there.contains($0) && store.bytes($0) != nil }
    #expect(extra.isEmpty || kind == .rebuilt, "\(testDescription): \(extra.map(\.urlText))")
  }
}
