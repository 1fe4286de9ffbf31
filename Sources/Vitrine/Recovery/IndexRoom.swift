/// Room for an index on the disk.
package struct IndexRoom: Sendable, Equatable {
  /// The length of each checkpoint file.
  package var fileByteCount: Int
  /// The blocks of the area; 0 for an index without pieces.
  package var blockCount: Int

  package init(fileByteCount: Int, blockCount: Int = 0) {
    self.fileByteCount = fileByteCount
    self.blockCount = blockCount
  }

  package func has(_ needed: IndexRoom) -> Bool {
    fileByteCount >= needed.fileByteCount && blockCount >= needed.blockCount
  }

  /// The bytes of both checkpoint files and of the area beyond those of another room.
  package func byteCount(beyond other: IndexRoom) -> Int {
    2 * (fileByteCount - other.fileByteCount) + (blockCount - other.blockCount) * Piece.blockByteCount
  }

  /// The smaller of each size.
  package func intersection(with other: IndexRoom) -> IndexRoom {
    IndexRoom(
      fileByteCount: min(fileByteCount, other.fileByteCount), blockCount: min(blockCount, other.blockCount))
  }

  /// The larger of each size.
  package func united(with other: IndexRoom) -> IndexRoom {
    IndexRoom(
      fileByteCount: max(fileByteCount, other.fileByteCount), blockCount: max(blockCount, other.blockCount))
  }
}

extension IndexRoom {
  /// Returns the room for the index, `moreKeys` keys and `moreSegments` segments. With pieces, `journal` is the largest
  /// number of words that the journal may reach before a checkpoint takes it, and `areaBlocks` the blocks of the area
  /// as it is: a root may have to name all of them.
  package static func needed(
    by index: borrowing CatalogWriter, hasPieces: Bool, moreKeys: Int = 0,
    moreSegments: Int = CatalogWriter.spareSegments, journal: Int = 0,
    areaBlocks: Int = 0, smallBase: Int = PiecePlan.smallBase
  ) -> IndexRoom {
    guard hasPieces else {
      return IndexRoom(fileByteCount: index.checkpointByteCount(moreKeys: moreKeys, moreSegments: moreSegments))
    }
    // Each of these keys may be the fourth that uses a blob, whose count then takes a word of its own.
    let base =
      2 * (index.keyCount + moreKeys) + index.blobCount + moreKeys + index.contents.largeCountCount + moreKeys + 64
    let blocks = PiecePlan.blockCount(base: base, journal: journal, smallBase: smallBase)
    let file = CheckpointHeader.rootByteCount(
      segments: index.segments.all.count + moreSegments, areaBlocks: max(blocks, areaBlocks))
    return IndexRoom(fileByteCount: file, blockCount: blocks)
  }
}
