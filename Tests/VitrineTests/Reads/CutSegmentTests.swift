import Testing

@testable import Vitrine

/// Segments whose files were cut to their records after they were mapped.
@Suite struct CutSegmentTests {
  /// The system has no pages behind the end of the file. Reads of a page that is there return it.
  @Test func aMappingOfACutFileEndsWithItsFile() throws {
    let folder = try TemporaryFolder()
    let content = noise(5 * 4096)
    try Files.write(content, to: folder.path + "/file")
    let file = try POSIXFileSystem().openDirectory(folder.path, create: false).openFile("file", .readWrite)
    let mapping = try file.map(byteCount: content.count, writable: false)
    mapping.guardPages(isWritable: false)
    try file.truncate(to: 3 * 4096)
    let mapped = MappedFile(mapping, isPrivate: false)
    for start in [0, 100, 4096, 3 * 4096 - 1000, 3 * 4096 - 1] {
      for count in [1, 4096, 5000, content.count] {
        let end = min(start + count, 3 * 4096)
        #expect(try mapped.read(start..<start + count) == Array(content[start..<end]), "\(start), \(count)")
      }
    }
    for start in [3 * 4096, 4 * 4096 + 7] {
      #expect(throws: SystemError.self) { try mapped.read(start..<start + 10) }
    }
    withExtendedLifetime(mapping) {}
  }
}
