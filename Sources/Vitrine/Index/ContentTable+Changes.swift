/// Changes of a shard. ``ContentTableWriter`` makes them.
extension ContentTable {
  /// Changes the number of keys that use a blob, and removes it with its last key. Returns the number of keys left, nil
  /// if the shard does not have the blob.
  @inline(__always)
  func change(
    _ hash: ContentHash, _ location: Location, by difference: Int, _ shard: borrowing Held
  ) -> Int? {
    guard let place = placeOf(hash, location, shard) else { return nil }
    let word = shard.pointee.slots[place]
    let small = Int(word >> 38 & 3)
    let count = min((small > 0 ? small : largeCount(location)) + difference, ContentTableWriter.mostUsers)
    if count <= 0 {
      ContentTable.remove(place, shard)
    } else {
      shard.pointee.slots[place] = word & ~(3 << 38) | UInt64(count > 3 ? 0 : count) << 38
    }
    // A dictionary access costs more than all else here, so only the few large counts pay for it.
    if count > 3 {
      large.withLock { $0[location] = count }
    } else if small == 0 {
      large.withLock { $0[location] = nil }
    }
    return max(count, 0)
  }

  /// Enters a blob that the shard does not have. Returns false when memory is short.
  @inline(__always)
  func insert(
    _ hash: ContentHash, _ location: Location, count: Int, _ shard: borrowing Held
  ) -> Bool {
    let wanted = shard.pointee.count + 1
    if wanted > shard.pointee.capacity * 85 / 100, !ContentTable.grow(shard, to: wanted) { return false }
    if count > 3 { large.withLock { $0[location] = count } }
    ContentTable.fill(ContentTable.word(hash, location, count: count), shard.pointee.slots, shard.pointee.capacity)
    shard.pointee.count += 1
    return true
  }

  /// Returns the number of keys that use a blob; nil if the shard does not have it.
  func userCount(_ hash: ContentHash, _ location: Location, _ shard: borrowing Held) -> Int? {
    guard let place = placeOf(hash, location, shard) else { return nil }
    let small = Int(shard.pointee.slots[place] >> 38 & 3)
    return small > 0 ? small : largeCount(location)
  }

  static func remove(_ found: Int, _ shard: borrowing Held) {
    let slots = shard.pointee.slots
    let capacity = shard.pointee.capacity
    var hole = found
    var place = found
    while true {
      place += 1
      if place == capacity { place = 0 }
      if slots[place] == 0 { break }
      let home = ContentTable.home(ContentTable.tag(slots[place]), capacity)
      let reaches = hole <= place ? (home <= hole || home > place) : (home <= hole && home > place)
      if reaches {
        slots[hole] = slots[place]
        hole = place
      }
    }
    slots[hole] = 0
    shard.pointee.count -= 1
  }

  static func fill(_ word: UInt64, _ slots: UnsafeMutablePointer<UInt64>, _ capacity: Int) {
    var place = ContentTable.home(ContentTable.tag(word), capacity)
    while slots[place] != 0 {
      place += 1
      if place == capacity { place = 0 }
    }
    slots[place] = word
  }

  static func grow(_ shard: borrowing Held, to count: Int) -> Bool {
    let capacityBefore = shard.pointee.capacity
    let wanted = max(capacityBefore + capacityBefore * shard.pointee.growth / 512, count * 100 / 85 + 2)
    guard wanted < 1 << 24, let memory = PageMemory(byteCount: wanted * 8, isAligned: false, isUsedWhole: true) else {
      return false
    }
    let capacity = memory.byteCount / 8
    let slots = memory.start.bindMemory(to: UInt64.self, capacity: capacity)
    for place in 0..<capacityBefore where shard.pointee.slots[place] != 0 {
      fill(shard.pointee.slots[place], slots, capacity)
    }
    shard.pointee.memory?.free()
    shard.pointee.memory = memory
    shard.pointee.slots = slots
    shard.pointee.capacity = capacity
    return true
  }
}
