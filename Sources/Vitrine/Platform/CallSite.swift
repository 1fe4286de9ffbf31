/// A line of the engine's source that changes the disk. The real disk ignores it. The crash explorer counts the
/// operations of each line, so that its report shows a loss of power before and after each such call.
package struct CallSite: Hashable, Sendable {
  /// For example `Vitrine/WAL.swift`.
  package let file: String
  package let line: Int

  package init(_ file: String, _ line: Int) {
    self.file = file
    self.line = line
  }
}

extension CallSite: CustomStringConvertible {
  /// For example `WAL.swift:54`.
  package var description: String { "\(file.drop { $0 != "/" }.dropFirst()):\(line)" }
}

// The calls of a file system as the engine writes them. The file and the line of the caller are default arguments:
// constants, which cost a few instructions.

extension FileSystem {
  package func openDirectory(
    _ path: String, create: Bool, file: String = #fileID, line: Int = #line
  ) throws(SystemError) -> any Directory {
    try openDirectory(path, create: create, from: CallSite(file, line))
  }

  package func syncName(
    ofFolder path: String, file: String = #fileID, line: Int = #line
  ) throws(SystemError) {
    try syncName(ofFolder: path, from: CallSite(file, line))
  }
}

extension Directory {
  package func openDirectory(
    _ name: String, create: Bool, file: String = #fileID, line: Int = #line
  ) throws(SystemError) -> any Directory {
    try openDirectory(name, create: create, from: CallSite(file, line))
  }

  package func openFile(
    _ name: String, _ access: FileAccess, file: String = #fileID, line: Int = #line
  ) throws(SystemError) -> any File {
    try openFile(name, access, from: CallSite(file, line))
  }

  package func remove(_ name: String, file: String = #fileID, line: Int = #line) throws(SystemError) {
    try remove(name, from: CallSite(file, line))
  }

  package func rename(
    _ name: String, to newName: String, file: String = #fileID, line: Int = #line
  ) throws(SystemError) {
    try rename(name, to: newName, from: CallSite(file, line))
  }

  package func sync(file: String = #fileID, line: Int = #line) throws(SystemError) {
    try sync(from: CallSite(file, line))
  }
}

extension File {
  package func write(
    _ first: UnsafeRawBufferPointer, _ second: UnsafeRawBufferPointer, at offset: Int, file: String = #fileID,
    line: Int = #line
  ) throws(SystemError) {
    try write(first, second, at: offset, from: CallSite(file, line))
  }

  package func write(
    _ bytes: UnsafeRawBufferPointer, at offset: Int, file: String = #fileID, line: Int = #line
  ) throws(SystemError) {
    try write(bytes, UnsafeRawBufferPointer(start: nil, count: 0), at: offset, from: CallSite(file, line))
  }

  package func write(
    _ bytes: [UInt8], at offset: Int, file: String = #fileID, line: Int = #line
  ) throws(SystemError) {
    // The closure of withUnsafeBytes cannot carry a typed error on every toolchain, so it returns a result.
    let result: Result<Void, SystemError> = bytes.withUnsafeBytes { buffer in
      do throws(SystemError) {
        return .success(try write(buffer, at: offset, file: file, line: line))
      } catch {
        return .failure(error)
      }
    }
    try result.get()
  }

  package func writeZeros(byteCount: Int, file: String = #fileID, line: Int = #line) throws(SystemError) {
    try writeZeros(byteCount: byteCount, from: CallSite(file, line))
  }

  package func allocate(byteCount: Int, file: String = #fileID, line: Int = #line) throws(SystemError) {
    try allocate(byteCount: byteCount, from: CallSite(file, line))
  }

  package func truncate(to byteCount: Int, file: String = #fileID, line: Int = #line) throws(SystemError) {
    try truncate(to: byteCount, from: CallSite(file, line))
  }

  package func sync(file: String = #fileID, line: Int = #line) throws(SystemError) {
    try sync(from: CallSite(file, line))
  }

  package func didStore(_ range: Range<Int>, file: String = #fileID, line: Int = #line) {
    didStore(range, from: CallSite(file, line))
  }
}
