/// The place of a value in a file of a store, for `sendfile`, `copy_file_range` and libraries that read files.
public struct FileRange: Sendable, Hashable {
  /// An open file, for reading only. It belongs to the store.
  public let descriptor: Int32
  /// The offset of the first byte in the file.
  public let offset: Int
  /// Number of bytes of the value.
  public let byteCount: Int
}

extension CacheStore {
  /// Calls `body` with a file and the range of it that holds a value. Returns nil on a miss.
  ///
  /// Also returns nil if no file has the bytes as they were put, or if the file cannot be opened now. No file has the
  /// bytes if the value is stored compressed, if the store reads by ``ReadMode/copied``, or if a read-only opening has
  /// restored the value in memory. In these cases, call ``peek(_:source:_:)`` for the bytes.
  ///
  /// The range is valid until `body` returns, and its bytes do not change until then. `body` neither writes to the file
  /// nor closes it; a copy made by `dup` stays readable afterwards, but its bytes may become those of other values once
  /// `body` has returned. Counts as a use. Costs a get and the opening of a file, about 3 µs; holds one descriptor
  /// meanwhile. The first read of an entry since opening checks the whole value (see ``Verification``). Throws only the
  /// errors of `body`. Thread-safe.
  public func withFileRange<R, E: Error>(
    _ key: CacheKey, source: Source? = nil, _ body: (FileRange) throws(E) -> R
  ) throws(E) -> R? {
    let url = key.url.span.bytes
    let borrow = acquire(url, key.style, source)
    guard borrow.isFound else { return nil }
    let file = owner(of: borrow).checkpoints.payloads.file(of: borrow)
    let result: Result<R, E>?
    if let file, let descriptor = file.file.systemDescriptor {
      result = withExtendedLifetime(file.file) {
        do throws(E) {
          return .success(
            try body(FileRange(descriptor: descriptor, offset: file.offset, byteCount: borrow.count)))
        } catch {
          return .failure(error)
        }
      }
    } else {
      result = nil
    }
    let isIntact = release(borrow)
    return isIntact ? try result?.get() : nil
  }

  /// Copies a value to a file, with the bytes that were put. Returns false on a miss.
  ///
  /// The file appears whole: the bytes are written beside it, to `path` with a suffix, and then take the name, in place
  /// of a file that is there. It is not synced. A value that is stored as it was put is copied by the system, which
  /// shares blocks where the file system can (`copy_file_range`); others are decompressed in memory. Does not count as
  /// a use. Costs the write of the value. Throws `system` with the call that failed, for example if the folder does not
  /// exist, and leaves no part of the file then. Thread-safe.
  @discardableResult
  public func copy(_ key: CacheKey, to path: String) throws(StoreError) -> Bool {
    do throws(SystemError) {
      let url = key.url.span.bytes
      let borrow = acquireUncounted(url, key.style, nil)
      guard borrow.isFound else { return false }
      let copied = Result<ExportedFile, SystemError> { () throws(SystemError) in
        let target = try ExportedFile(path)
        let file = owner(of: borrow).checkpoints.payloads.file(of: borrow)
        if let file, let source = file.file.systemDescriptor {
          try target.copy(source, file.offset..<file.offset + borrow.count)
          withExtendedLifetime(file.file) {}
        } else {
          try target.write(borrow.bytes)
        }
        return target
      }
      // Only now is it known whether the bytes were right.
      guard release(borrow) else { return false }
      try copied.get().finish()
      return true
    } catch {
      throw .system(error)
    }
  }
}
