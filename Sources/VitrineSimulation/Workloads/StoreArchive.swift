import CZstd
import Vitrine

/// The files of a store in one piece: for each file, the lengths of its name and of its content, 4 bytes each, then the
/// name, then the content. All of that is compressed by zstd.
package struct StoreArchive {
  package let files: [String: [UInt8]]

  package init(files: [String: [UInt8]]) { self.files = files }

  /// The store that version 1 left after a loss of power: `Tests/Golden/v1/torn.tar.gz`, packed by
  /// `scripts/golden`.
  package static let firstVersion: StoreArchive = {
    guard let archive = StoreArchive(bytes: PackageResources.v1_torn_archive) else {
      preconditionFailure("the archive in this program is damaged")
    }
    return archive
  }()

  /// Reads an archive. Returns nil if the bytes are not an archive.
  package init?(bytes: [UInt8]) {
    let byteCount = ZSTD_getFrameContentSize(bytes, bytes.count)
    guard byteCount <= 1 << 30 else { return nil }
    let content = [UInt8](unsafeUninitializedCapacity: Int(byteCount)) { space, count in
      let written = ZSTD_decompress(space.baseAddress, space.count, bytes, bytes.count)
      count = ZSTD_isError(written) == 0 ? written : 0
    }
    guard content.count == Int(byteCount) else { return nil }
    var files: [String: [UInt8]] = [:]
    var rest = content[...]
    while !rest.isEmpty {
      guard let nameCount = StoreArchive.takeCount(&rest), let byteCount = StoreArchive.takeCount(&rest),
        nameCount + byteCount <= rest.count
      else { return nil }
      let name = String(decoding: rest.prefix(nameCount), as: UTF8.self)
      rest = rest.dropFirst(nameCount)
      files[name] = Array(rest.prefix(byteCount))
      rest = rest.dropFirst(byteCount)
    }
    self.files = files
  }

  package var bytes: [UInt8] {
    var content: [UInt8] = []
    for (name, bytes) in files.sorted(by: { $0.key < $1.key }) {
      StoreArchive.append(name.utf8.count, to: &content)
      StoreArchive.append(bytes.count, to: &content)
      content += Array(name.utf8) + bytes
    }
    return [UInt8](unsafeUninitializedCapacity: ZSTD_compressBound(content.count)) { space, count in
      let written = ZSTD_compress(space.baseAddress, space.count, content, content.count, ZSTD_maxCLevel())
      count = ZSTD_isError(written) == 0 ? written : 0
    }
  }

  private static func append(_ count: Int, to content: inout [UInt8]) {
    withUnsafeBytes(of: UInt32(count).littleEndian) { content += $0 }
  }

  private static func takeCount(_ rest: inout ArraySlice<UInt8>) -> Int? {
    guard rest.count >= 4 else { return nil }
    let count = rest.prefix(4).reversed().reduce(0) { $0 << 8 | Int($1) }
    rest = rest.dropFirst(4)
    return count
  }
}
