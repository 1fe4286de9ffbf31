import Foundation
import Vitrine

/// Encoded with the names of the properties as keys, and the ratio as `hitRatio`. A value that is not known has no key.
/// These keys stay the same in later versions, which may add others.
extension StoreStatistics: Encodable {
  private enum Key: String, CodingKey {
    case formatVersion, entryCount, blobCount, bytesOnDisk, liveByteCount, deadByteCount, pinnedByteCount
    case logicalByteCount, byteBudget, entryBudget, styles, pins, minimumFreeBytes, availableBytes, policy, hitCount
    case missCount, hitRatio, lastMinute, lastHour, missCurve, writeAmplification, damagedCount, lostCount
    case evictedCount, evictedByteCount, evictedByAge, compaction, lastCheckpointMilliseconds, lastOpen
    case lastOpenForWriting, segments
  }

  /// Encodes all numbers.
  public func encode(to encoder: any Encoder) throws {
    var values = encoder.container(keyedBy: Key.self)
    try encodeContents(&values)
    try encodeCounters(&values)
    try values.encode(lastOpen, forKey: .lastOpen)
    try values.encodeIfPresent(lastOpenForWriting, forKey: .lastOpenForWriting)
    try values.encode(segments, forKey: .segments)
  }

  private func encodeContents(_ values: inout KeyedEncodingContainer<Key>) throws {
    try values.encode(formatVersion, forKey: .formatVersion)
    try values.encode(entryCount, forKey: .entryCount)
    try values.encode(blobCount, forKey: .blobCount)
    try values.encode(bytesOnDisk, forKey: .bytesOnDisk)
    try values.encode(liveByteCount, forKey: .liveByteCount)
    try values.encode(deadByteCount, forKey: .deadByteCount)
    try values.encode(pinnedByteCount, forKey: .pinnedByteCount)
    try values.encode(logicalByteCount, forKey: .logicalByteCount)
    try values.encode(byteBudget, forKey: .byteBudget)
    try values.encode(entryBudget, forKey: .entryBudget)
    try values.encode(styles, forKey: .styles)
    try values.encodeIfPresent(pins, forKey: .pins)
    try values.encode(minimumFreeBytes, forKey: .minimumFreeBytes)
    try values.encodeIfPresent(availableBytes, forKey: .availableBytes)
    try values.encode(policy, forKey: .policy)
    try values.encodeIfPresent(lastCheckpointMilliseconds, forKey: .lastCheckpointMilliseconds)
  }

  private func encodeCounters(_ values: inout KeyedEncodingContainer<Key>) throws {
    try values.encode(hitCount, forKey: .hitCount)
    try values.encode(missCount, forKey: .missCount)
    try values.encode(hitRatio, forKey: .hitRatio)
    try values.encodeIfPresent(lastMinute, forKey: .lastMinute)
    try values.encodeIfPresent(lastHour, forKey: .lastHour)
    try values.encodeIfPresent(missCurve, forKey: .missCurve)
    try values.encode(writeAmplification, forKey: .writeAmplification)
    try values.encode(damagedCount, forKey: .damagedCount)
    try values.encode(lostCount, forKey: .lostCount)
    try values.encode(evictedCount, forKey: .evictedCount)
    try values.encode(evictedByteCount, forKey: .evictedByteCount)
    try values.encode(evictedByAge, forKey: .evictedByAge)
    try values.encode(compaction, forKey: .compaction)
  }

  /// Returns the statistics as JSON with sorted keys, in lines for people if `isPretty`.
  public func json(isPretty: Bool = false) throws -> Data {
    let encoder = JSONEncoder()
    encoder.outputFormatting = isPretty ? [.sortedKeys, .prettyPrinted] : .sortedKeys
    return try encoder.encode(self)
  }
}

/// Encoded with the names of the properties as keys.
extension StoreStatistics.Segment: Encodable {
  private enum Key: String, CodingKey {
    case file, stream, byteCount, liveByteCount, deadByteCount, freeByteCount, livePartCount, isOpen
  }

  /// Encodes the segment.
  public func encode(to encoder: any Encoder) throws {
    var values = encoder.container(keyedBy: Key.self)
    try values.encode(file, forKey: .file)
    try values.encode(stream, forKey: .stream)
    try values.encode(byteCount, forKey: .byteCount)
    try values.encode(liveByteCount, forKey: .liveByteCount)
    try values.encode(deadByteCount, forKey: .deadByteCount)
    try values.encode(freeByteCount, forKey: .freeByteCount)
    try values.encode(livePartCount, forKey: .livePartCount)
    try values.encode(isOpen, forKey: .isOpen)
  }
}

/// Encoded with the names of the properties as keys, and the ratio as `hitRatio`.
extension StoreStatistics.Lookups: Encodable {
  private enum Key: String, CodingKey { case hitCount, missCount, hitRatio }

  /// Encodes the lookups.
  public func encode(to encoder: any Encoder) throws {
    var values = encoder.container(keyedBy: Key.self)
    try values.encode(hitCount, forKey: .hitCount)
    try values.encode(missCount, forKey: .missCount)
    try values.encode(hitRatio, forKey: .hitRatio)
  }
}

/// Encoded with the names of the properties as keys.
extension StoreStatistics.Compaction: Encodable {
  private enum Key: String, CodingKey { case stepCount, recordsMoved, bytesMoved, segmentsFreed }

  /// Encodes the sums.
  public func encode(to encoder: any Encoder) throws {
    var values = encoder.container(keyedBy: Key.self)
    try values.encode(stepCount, forKey: .stepCount)
    try values.encode(recordsMoved, forKey: .recordsMoved)
    try values.encode(bytesMoved, forKey: .bytesMoved)
    try values.encode(segmentsFreed, forKey: .segmentsFreed)
  }
}

/// Encoded as `created`, `clean`, `recovered` or `rebuilt`.
extension OpeningKind: Codable {}

/// Encoded with the names of the properties as keys.
extension StoreStatistics.LastOpen: Encodable {
  private enum Key: String, CodingKey {
    case kind, milliseconds, replayedCount, droppedCount, mayHaveLostRemovals, notes
  }

  /// Encodes the opening.
  public func encode(to encoder: any Encoder) throws {
    var values = encoder.container(keyedBy: Key.self)
    try values.encode(kind, forKey: .kind)
    try values.encode(milliseconds, forKey: .milliseconds)
    try values.encode(replayedCount, forKey: .replayedCount)
    try values.encode(droppedCount, forKey: .droppedCount)
    try values.encode(mayHaveLostRemovals, forKey: .mayHaveLostRemovals)
    try values.encode(notes, forKey: .notes)
  }
}
