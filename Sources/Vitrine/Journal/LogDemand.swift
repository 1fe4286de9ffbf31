/// The demands of frames that the present length of the log does not meet. A quiet store forgets them.
package struct LogDemand {
  /// The length of the longest frame that did not fit the log.
  package private(set) var longestRefused = 0
  /// The wanted length of a log file in bytes; 0 if no length is wanted. It is the largest length in `uncarried` whose
  /// records have at least as many bytes together as four log files of that length.
  package private(set) var fileByteCount = 0
  /// The bytes of synced records that no frame carried because the log was too short, by the length of a log file whose
  /// frames can carry such a record.
  private var uncarried: [Int: Int] = [:]
  private var uncarriedByteCount = 0
  /// The value of `uncarriedByteCount` from which the next checkpoint is due.
  private var dueByteCount = 0
  /// Whether a checkpoint was due after the log had continued in a long file.
  private var hasFollowed = false

  /// The most bytes of a record that a frame carries. A larger record is synced in its segment, which costs a second
  /// sync.
  package static func largestRecord(capacity: Int) -> Int {
    min(256 << 10, max(capacity / 8, min(capacity / 4, 4000)))
  }

  /// The bytes of a log file whose frames carry records of `byteCount` bytes.
  package static func fileByteCount(forRecord byteCount: Int) -> Int { byteCount * 8 + WALFileHeader.frameStart }

  /// Whether a log of this capacity is too short.
  package func exceeds(capacity: Int) -> Bool {
    longestRefused > capacity || fileByteCount > capacity + WALFileHeader.frameStart
  }

  package mutating func refuse(_ byteCount: Int) { longestRefused = max(longestRefused, byteCount) }

  /// Notes a synced record that no frame carries. `suitable`: the bytes of log files that suit it. `active`: the bytes
  /// of the file that takes the frames. Returns true if a checkpoint is due, which enlarges the log.
  package mutating func noteUncarried(_ byteCount: Int, suitable: Int, active: Int) -> Bool {
    uncarriedByteCount += byteCount
    uncarried[suitable, default: 0] += byteCount
    if suitable > fileByteCount, uncarried[suitable, default: 0] >= CacheFormat.walFileCount * suitable {
      fileByteCount = suitable
      dueByteCount = uncarriedByteCount
      hasFollowed = false
    }
    if fileByteCount == 0 { return false }
    // The first checkpoint enlarges the free files, and the log continues in one of them. The next one frees the file
    // that is short.
    if active >= fileByteCount, !hasFollowed {
      hasFollowed = true
      return true
    }
    if uncarriedByteCount < dueByteCount { return false }
    // If the log cannot grow, checkpoints for it become rare.
    dueByteCount = uncarriedByteCount * 2
    return true
  }
}
