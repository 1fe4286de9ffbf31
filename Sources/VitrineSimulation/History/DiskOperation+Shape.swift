extension DiskOperation {
  /// Returns the same operations with their bytes replaced by words that identify only the operation: its kind, its
  /// file, its place, and how many like it came before. So two runs that differ only in payloads, secrets and
  /// checksums leave equal disks.
  static func shapes(of operations: [DiskOperation]) -> [DiskOperation] {
    var counts: [UInt64: UInt64] = [:]
    return operations.map { operation in
      var shape = operation.path.utf8.reduce(1) { mixed($0, UInt64($1)) }
      func word(_ kind: UInt64, _ offset: Int, _ count: Int) -> [UInt8] {
        shape = mixed(mixed(shape, kind), mixed(UInt64(offset), UInt64(count)))
        let earlier = counts[shape, default: 0]
        counts[shape] = earlier + 1
        let token = mixed(shape, earlier)
        return [UInt8](unsafeUninitializedCapacity: count) { buffer, initialized in
          for index in 0..<count {
            buffer[index] = UInt8(truncatingIfNeeded: token >> UInt64((offset + index) & 7 * 8))
          }
          initialized = count
        }
      }
      switch operation.change {
      case .write(let inode, let offset, let bytes):
        return operation.changed(to: .write(inode, offset: offset, bytes: word(1, offset, bytes.count)))
      case .store(let inode, let offset, let bytes):
        return operation.changed(to: .store(inode, offset: offset, bytes: word(2, offset, bytes.count)))
      default:
        return operation
      }
    }
  }

  private func changed(to change: Change) -> DiskOperation {
    DiskOperation(index: index, path: path, change: change, site: site, thread: thread)
  }
}
