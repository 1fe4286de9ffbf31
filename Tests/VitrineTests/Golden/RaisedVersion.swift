@testable import Vitrine

/// Raises the format version by one in a store's files, as a later version would have written it, with valid
/// checksums.
enum RaisedVersion: CaseIterable {
  case firstCopy, secondCopy, checkpoints, logs, segments

  func apply(to store: String) throws {
    switch self {
    case .firstCopy: try change("\(store)/STORE") { RaisedVersion.raiseIdentity(&$0, at: 0) }
    case .secondCopy: try change("\(store)/STORE") { RaisedVersion.raiseIdentity(&$0, at: StoreIdentity.secondCopy) }
    case .checkpoints:
      for name in try Files.below("\(store)/checkpoints") {
        try change("\(store)/checkpoints/\(name)", RaisedVersion.raiseCheckpoint)
      }
    case .logs:
      for name in try Files.below("\(store)/wal") {
        try change("\(store)/wal/\(name)") { RaisedVersion.raiseHeader(&$0, WALFileHeader.magic) }
      }
    case .segments:
      for name in try Files.below("\(store)/segments") {
        try change("\(store)/segments/\(name)") { RaisedVersion.raiseHeader(&$0, SegmentHeader.magic) }
      }
    }
  }

  private func change(_ path: String, _ body: (inout [UInt8]) -> Void) throws {
    var bytes = try Files.read(path)
    body(&bytes)
    try Files.write(bytes, to: path)
  }

  private static func raiseIdentity(_ bytes: inout [UInt8], at start: Int) {
    bytes[start + 8] += 1
    let sum = bytes[start..<start + 504].withUnsafeBytes { Checksum.of($0, seed: StoreIdentity.magic) }
    set(sum, &bytes, at: start + 504)
  }

  /// A file that was never used has no header.
  private static func raiseCheckpoint(_ bytes: inout [UInt8]) {
    guard bytes.withUnsafeBytes({ CheckpointHeader($0) }) != nil else { return }
    bytes[8] += 1
    raiseIdentity(&bytes, at: 512)
    let sum = bytes.withUnsafeBytes {
      Checksum.of(
        UnsafeRawBufferPointer(rebasing: $0[0..<504]), UnsafeRawBufferPointer(rebasing: $0[512..<1024]),
        seed: CheckpointHeader.magic)
    }
    set(sum, &bytes, at: 504)
  }

  /// Raises the version in the header of a log file or a segment. A file that was never used has no header.
  private static func raiseHeader(_ bytes: inout [UInt8], _ magic: UInt64) {
    guard bytes.count >= 128, bytes.withUnsafeBytes({ $0.loadUnaligned(as: UInt64.self) }) == magic.littleEndian else {
      return
    }
    bytes[8] += 1
    set(bytes[0..<120].withUnsafeBytes { Checksum.of($0, seed: magic) }, &bytes, at: 120)
  }

  private static func set(_ number: UInt64, _ bytes: inout [UInt8], at offset: Int) {
    withUnsafeBytes(of: number.littleEndian) { bytes.replaceSubrange(offset..<offset + 8, with: $0) }
  }
}
