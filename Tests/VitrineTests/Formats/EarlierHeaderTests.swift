import Testing

@testable import Vitrine

/// Headers as builds before the first release have written them.
@Suite struct EarlierHeaderTests {
  /// They have zero in place of the checksum of the first sector, so the checksum of the whole header alone finds
  /// changes.
  @Test func aChangedCheckpointHeaderWithoutItsFirstChecksumIsRefused() throws {
    var bytes = try GoldenCheckpoint.make().bytes
    bytes.replaceSubrange(160..<168, with: [UInt8](repeating: 0, count: 8))
    expectRefusals(of: bytes, covered: 0..<1024, needs: 1024) { bytes in
      bytes.withUnsafeBytes { CheckpointHeader($0) } != nil
    }
  }
}
