import CVitrineSystem
import Foundation
import Testing

@testable import Vitrine

/// The real disk's syncs call the system: it refuses to sync a pipe, which no other test would notice.
@Suite struct SystemSyncTests {
  private func withPipe(_ body: (Int32) throws -> Void) throws {
    let pipe = Pipe()
    try body(dup(pipe.fileHandleForReading.fileDescriptor))
  }

  @Test func syncingAFileMakesTheSystemsCall() throws {
    try withPipe { descriptor in
      #expect(vitrine_sync(descriptor) == EINVAL)
      let file = POSIXFile(descriptor: descriptor, path: "pipe")
      #expect(throws: SystemError.self) { try file.sync() }
    }
  }

  @Test func syncingAFolderMakesTheSystemsCall() throws {
    try withPipe { descriptor in
      let folder = POSIXDirectory(descriptor: descriptor, path: "pipe")
      #expect(throws: SystemError.self) { try folder.sync() }
    }
  }
}
