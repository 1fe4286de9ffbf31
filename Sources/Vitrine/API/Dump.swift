extension CacheStore {
  /// Describes one file of a store, in lines. The file is a segment, a log file, a checkpoint file, the area, the file
  /// of uses, or `STORE`. Reads only this file and those beside it, so it needs no intact store. O(file): collects all
  /// lines in memory before the first call of `line`. Thread-safe. Throws `unreadable` for any other file,
  /// `SystemError` if the file cannot be read, and the errors of `line`.
  public static func dump<E: Error>(file path: String, line: (String) throws(E) -> Void) throws {
    try dump(file: path, environment: .posix, line: line)
  }

  package static func dump<E: Error>(
    file path: String, environment: Environment, line: (String) throws(E) -> Void
  ) throws {
    let (folder, name) = split(path)
    let directory = try environment.fileSystem.openDirectory(folder, create: false)
    let file = try directory.openFile(name, .readOnly)
    let bytes = try file.read(0..<CheckpointHeader.byteCount * 2)
    let magic = bytes.count >= 8 ? bytes.withUnsafeBytes { $0.baseAddress!.u64(0) } : 0
    var lines: [String] = []
    switch magic {
    case SegmentHeader.magic: try dumpSegment(file, bytes, &lines)
    case WALFileHeader.magic: dumpLog(file, bytes, &lines)
    case CheckpointHeader.magic: dumpCheckpoint(file, bytes, beside: directory, &lines)
    case StoreIdentity.magic: dumpIdentity(bytes, &lines)
    case _ where [CacheFormat.areaFile, CacheFormat.usesListFile].contains(name):
      try dumpBlocks(name, file, beside: directory, &lines)
    default:
      if let id = SegmentHeader.segment(ofFile: name) {
        lines.append("segment \(id): its header is damaged, so its store is unknown")
      } else if bytes.allSatisfy({ $0 == 0 }) {
        lines.append("its first 8 KiB are zeros")
      } else {
        throw StoreError.unreadable(path: path, reason: "it is not a segment, log, checkpoint or STORE file")
      }
    }
    for text in lines { try line(text) }
  }

  private static func split(_ path: String) -> (String, String) {
    guard let slash = path.lastIndex(of: "/") else { return (".", path) }
    let folder = path[..<slash]
    return (folder.isEmpty ? "/" : String(folder), String(path[path.index(after: slash)...]))
  }

  private static func dumpSegment(
    _ file: any File, _ bytes: [UInt8], _ lines: inout [String]
  ) throws(SystemError) {
    guard let header = bytes.withUnsafeBytes({ SegmentHeader($0) }) else {
      lines.append("segment: its head fails its check")
      return
    }
    lines.append(
      "segment \(header.segment) stream=\(header.stream.name) bytes=\(header.fileByteCount) opening=\(header.opening)")
    var found: [(Int, String)] = []
    let byteCount = SegmentHeader.bound(
      try file.status().byteCount, store: header.store, segment: header.segment, head: header)
    _ = SegmentScanner(file: file, store: header.store, segment: header.segment).records(
      byteCount: byteCount,
      { record in
        let header = record.header
        let style = String(decoding: record.style, as: UTF8.self)
        let url = String(decoding: record.url, as: UTF8.self)
        found.append(
          (
            record.offset,
            "\(record.offset) \(header.carriesPayload ? "record" : "reference") seq=\(header.sequence) "
              + "origin=\(header.origin) \(header.encoding) stored=\(header.storedByteCount) "
              + "bytes=\(header.logicalByteCount) digest=\(header.digest) style=\(style) url=\(url)"
          ))
      }, damage: { found.append(($0, "\($0) damaged: \($1.rawValue)")) })
    lines += found.sorted { $0.0 < $1.0 }.map(\.1)
  }

  private static func dumpLog(_ file: any File, _ bytes: [UInt8], _ lines: inout [String]) {
    guard let header = bytes.withUnsafeBytes({ WALFileHeader($0) }) else {
      lines.append("log: its head fails its check")
      return
    }
    lines.append(
      "log use=\(header.use) opening=\(header.opening) first=\(header.firstSequence) "
        + "after=\(header.predecessor) cut=\(header.predecessorCut) durable=\(header.durableSequence)")
    let window = LogWindow(file, byteCount: (try? file.status().byteCount) ?? 0)
    var offset = WALFileHeader.frameStart
    while let (frame, bytes) = window.frame(at: offset, before: window.byteCount, seed: header.seed) {
      lines.append(
        "\(offset) frame seq=\(frame.sequence) bytes=\(frame.byteCount) changes=\(frame.changeCount) "
          + "durable=\(frame.durableSequence)")
      for change in Frame.changes(bytes, at: offset, frame) ?? [] { lines.append("  \(change)") }
      offset += frame.byteCount
    }
  }

  private static func dumpCheckpoint(
    _ file: any File, _ bytes: [UInt8], beside folder: any Directory, _ lines: inout [String]
  ) {
    guard let header = bytes.withUnsafeBytes({ CheckpointHeader($0) }) else {
      lines.append("checkpoint: its head fails its check")
      return
    }
    lines.append(
      "checkpoint generation=\(header.generation)\(header.isClean ? " clean" : "") opening=\(header.opening) "
        + "use=\(header.position.use) offset=\(header.position.offset) sequence=\(header.position.sequence) "
        + "keys=\(header.keyCount) blobs=\(header.blobCount) segments=\(header.segmentCount)")
    let area = header.isRoot ? try? folder.openFile(CacheFormat.areaFile, .readOnly) : nil
    if header.isRoot { dumpPieces(RootBody.pieces(from: file, header: header), &lines) }
    guard let writer = CatalogWriter.read(from: file, header: header, area: area) else {
      lines.append(header.isRoot ? "its pieces fail their check" : "its body fails its check")
      return
    }
    let catalog = writer.catalog
    for case let segment? in writer.segments.all {
      let account = writer.segments[segment]
      lines.append(
        "segment slot=\(segment.slot) \(segment.fileName) \(account.stream.name) \(account.state) "
          + "tail=\(account.fill.tail) live=\(account.live.units * Unit.byteCount) "
          + "vouched=\(catalog.segments.vouchedUpTo(segment.slot))")
    }
    for shard in 0..<KeyTable.shardCount {
      catalog.keys.forEach(shard: shard) { entry in
        lines.append(
          "key \(hexadecimal(entry.hash(shard: shard).bits)) slot=\(entry.location.slot) "
            + "offset=\(entry.location.offset)"
            + (entry.flags.contains(.reference) ? " reference" : ""))
      }
    }
  }

  private static func dumpPieces(_ pieces: [Piece]?, _ lines: inout [String]) {
    guard let pieces else {
      lines.append("its body fails its check")
      return
    }
    for piece in pieces {
      let ranges = piece.ranges.map { "\($0.start)+\($0.count)" }.joined(separator: ",")
      lines.append(
        "\(piece.kind) number=\(hexadecimal(piece.number)) shards=\(hexadecimal(piece.shards)) "
          + "words=\(piece.wordCount) blocks=\(ranges)")
    }
  }

  /// Describes the area by the pieces that the checkpoints beside it name. Lists the valid blocks of the file of uses.
  private static func dumpBlocks(
    _ name: String, _ file: any File, beside folder: any Directory, _ lines: inout [String]
  ) throws(SystemError) {
    let checkpoints = try CheckpointSet.open(folder, access: .readOnly)
    let byteCount = try file.status().byteCount
    guard let current = checkpoints.order.first, let header = checkpoints.slots[current].header else {
      lines.append("\(name): \(byteCount) bytes; no checkpoint beside it can be read")
      return
    }
    if name == CacheFormat.areaFile {
      lines.append("area blocks=\(byteCount / Piece.blockByteCount)")
      for slot in checkpoints.order {
        guard let root = checkpoints.slots[slot].file, let header = checkpoints.slots[slot].header, header.isRoot else {
          continue
        }
        lines.append("checkpoint \(slot) names:")
        dumpPieces(RootBody.pieces(from: root, header: header), &lines)
      }
      return
    }
    lines.append("uses blocks=\(byteCount / UseBlock.byteCount)")
    for place in 0..<byteCount / UseBlock.byteCount {
      let start = place * UseBlock.byteCount
      let bytes = try file.read(start..<start + UseBlock.byteCount)
      guard let block = bytes.withUnsafeBytes({ UseBlock($0, store: header.identity.store) }) else { continue }
      lines.append(
        "\(start) block number=\(block.number) clock=\(block.clock) sequence=\(block.sequence) time=\(block.time) "
          + "uses=\(block.uses.count)")
      for use in block.uses { lines.append("  use \(hexadecimal(use.hash.bits)) stamp=\(use.stamp) uses=\(use.uses)") }
    }
  }

  private static func dumpIdentity(_ bytes: [UInt8], _ lines: inout [String]) {
    for offset in [0, StoreIdentity.secondCopy] where offset + StoreIdentity.byteCount <= bytes.count {
      switch bytes.withUnsafeBytes({ StoreIdentity.read(UnsafeRawBufferPointer(rebasing: $0[offset...])) }) {
      case .valid(let identity):
        lines.append(
          "store \(hexadecimal(identity.store.high))\(hexadecimal(identity.store.low)) "
            + "format=\(CacheFormat.name(of: identity.version)) generation=\(identity.generation) "
            + "budget=\(identity.byteBudget) entries=\(identity.entryBudget) "
            + "styles=\(identity.styleBudgets.list.count) free=\(identity.minimumFree) "
            + "segment=\(identity.segmentByteCount) log=\(identity.walFileByteCount) "
            + "durability=\(identity.durability) level=\(identity.compressionLevel)")
      case .newer(let version): lines.append("a store of format \(version), which this version does not know")
      case .damaged: lines.append("the copy at \(offset) fails its check")
      }
    }
  }
}
