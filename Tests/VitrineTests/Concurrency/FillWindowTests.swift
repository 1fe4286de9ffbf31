import Foundation
import Testing

@testable import Vitrine

/// Records that are stored through a mapping, whose pages another thread populates.
@Suite(.timeLimit(.minutes(60))) struct FillWindowTests {
  private static let byteCount = 4 << 20
  private static let recordByteCount = 1000

  let folder: TemporaryFolder
  let file: any File
  let window: FillWindow

  init() throws {
    folder = try TemporaryFolder()
    file = try POSIXFileSystem().openDirectory(folder.path, create: false).openFile("segment", .create)
    try file.allocate(byteCount: Self.byteCount)
    window = try #require(FillWindow(file: file, byteCount: Self.byteCount))
  }

  /// The bytes of the record at `offset`.
  private static func record(_ offset: Int) -> [UInt8] {
    (0..<recordByteCount).map { UInt8(truncatingIfNeeded: offset / 1000 ^ $0 &* 7) }
  }

  private static func store(_ window: FillWindow, at offset: Int) -> Bool {
    record(offset).withUnsafeBytes { bytes in
      window.store(.init(rebasing: bytes[..<100]), .init(rebasing: bytes[100...]), at: offset)
    }
  }

  /// Stores the record, or writes it with a call. Returns whether it was stored.
  @discardableResult private static func fill(_ window: FillWindow, _ file: any File, at offset: Int) throws -> Bool {
    if store(window, at: offset) { return true }
    try file.write(record(offset), at: offset)
    return false
  }

  private func fill(at offset: Int) throws -> Bool { try Self.fill(window, file, at: offset) }

  private func requireWritten(at offset: Int) throws {
    let isStored = try fill(at: offset)
    #expect(!isStored, "the record at \(offset) is one of the first ones")
  }

  private func requireRecords(upTo end: Int) throws {
    let bytes = try file.read(0..<end)
    for offset in stride(from: 0, to: end, by: Self.recordByteCount) {
      try #require(bytes[offset..<offset + Self.recordByteCount].elementsEqual(Self.record(offset)), "at \(offset)")
    }
  }

  /// Fills records from `offset` on until one is stored. Returns the offset behind it.
  private func fillUntilStored(from offset: Int) throws -> Int {
    var offset = offset
    while try !fill(at: offset) {
      // The same place, so that any number of attempts fits the file.
      if offset >= 100_000 { usleep(100) } else { offset += Self.recordByteCount }
    }
    return offset + Self.recordByteCount
  }

  @Test func recordsAfterTheFirstOnesAreStored() throws {
    for index in 0..<65 { try requireWritten(at: index * Self.recordByteCount) }
    var offset = try fillUntilStored(from: 65 * Self.recordByteCount)
    var stored = 0
    while offset + Self.recordByteCount <= Self.byteCount {
      if try fill(at: offset) { stored += 1 }
      offset += Self.recordByteCount
    }
    #expect(stored > 0)
    try requireRecords(upTo: offset)
  }

  @Test func syncEndsThePages() throws {
    let offset = try fillUntilStored(from: 0)
    window.retreat()
    // A thread that was asked before must not populate pages for the sync to write.
    for index in 0..<65 { try requireWritten(at: offset + index * Self.recordByteCount) }
    let end = try fillUntilStored(from: offset + 65 * Self.recordByteCount)
    try requireRecords(upTo: end)
  }

  @Test func closedWindowStoresNothing() throws {
    let offset = try fillUntilStored(from: 0)
    window.close()
    #expect(!Self.store(window, at: offset))
    try requireRecords(upTo: offset)
  }

  @Test func pagesAreThoseWanted() throws {
    let pages = PopulatedPages(try file.map(byteCount: Self.byteCount, writable: true))
    #expect(pages.move(to: 5000..<6000, ahead: 8000) && pages.covers(4096..<16384) && !pages.covers(4000..<5000))
    #expect(!pages.areFew(after: 5000..<6000, least: 10384) && pages.areFew(after: 5000..<6000, least: 10385))
    #expect(pages.move(to: 9000..<10_000, ahead: 20_000) && pages.covers(8192..<32_768) && !pages.covers(8000..<9000))
    #expect(pages.move(to: 0..<100, ahead: 0) && pages.covers(0..<4096) && !pages.covers(0..<4097))
    #expect(pages.move(to: 9000..<10_000, ahead: Self.byteCount) && pages.covers(8192..<Self.byteCount))
    #expect(!pages.areFew(after: 9000..<10_000, least: .max), "the mapping has no more")
    #expect(!pages.move(to: Self.byteCount..<Self.byteCount + 1, ahead: 0))
    pages.retreat()
    #expect(!pages.covers(8192..<9000))
  }

  @Test func missingPagesFollowTheKnownOnes() throws {
    let pages = PopulatedPages(try file.map(byteCount: Self.byteCount, writable: true))
    #expect(pages.missing(from: 5000, ahead: 8000) == 4096..<16_384)
    pages.add(4096..<16_384, from: 5000)
    #expect(pages.covers(4096..<16_384) && pages.missing(from: 5000, ahead: 8000) == nil)
    #expect(pages.missing(from: 10_000, ahead: 8000) == 16_384..<20_480)
    pages.add(16_384..<1 << 20, from: 10_000)
    #expect(pages.covers(4096..<1 << 20), "few of them are used")
    pages.add(1 << 20..<1 << 20 + 4096, from: 900_000)
    #expect(pages.covers(897_024..<1 << 20 + 4096) && !pages.covers(892_928..<893_000))
    // Records elsewhere, as after a few that were written by a call.
    #expect(pages.missing(from: 3 << 20, ahead: 4096) == 3 << 20..<3 << 20 + 4096)
    pages.add(3 << 20..<3 << 20 + 4096, from: 3 << 20)
    #expect(pages.covers(3 << 20..<3 << 20 + 4096) && !pages.covers(1 << 20..<1 << 20 + 4096))
    #expect(pages.missing(from: Self.byteCount - 100, ahead: 9000) == Self.byteCount - 4096..<Self.byteCount)
    pages.add(Self.byteCount - 4096..<Self.byteCount, from: Self.byteCount - 100)
    #expect(pages.missing(from: Self.byteCount - 100, ahead: 9000) == nil)
  }

  @Test func recordsOfManyThreadsMeetSyncs() throws {
    let next = Guarded(0)
    let errors = Guarded<[String]>([])
    DispatchQueue.concurrentPerform(iterations: 4) { [file, window] _ in
      do {
        while true {
          let index = next.withLock { next in
            defer { next += 1 }
            return next
          }
          let offset = index * Self.recordByteCount
          if offset + Self.recordByteCount > Self.byteCount { return }
          if index % 150 == 0 {
            window.retreat()
            try file.sync()
          }
          try Self.fill(window, file, at: offset)
        }
      } catch { errors.withLock { $0.append("\(error)") } }
    }
    #expect(errors.withLock { $0 } == [])
    try requireRecords(upTo: Self.byteCount / Self.recordByteCount * Self.recordByteCount)
  }
}
