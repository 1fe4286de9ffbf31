// The facts of a change that the catalog accounts for.
extension Change.Displaced {
  /// The size of the entry, as it was counted.
  var size: EntrySums.Size { EntrySums.Size(logicalByteCount: logicalByteCount, headUnits: headUnits) }
}

extension Change.Put {
  /// The offset behind its record.
  var endOffset: Int { location.offset + (headUnits + payloadUnits) * Unit.byteCount }

  /// The flags of the record's entry in the key table.
  var flags: KeySlot.Flags {
    var flags: KeySlot.Flags = contentLocation == location ? [] : .reference
    if expires { flags.formUnion(.expires) }
    if isIndependent { flags.formUnion(.independent) }
    if isPinned { flags.formUnion(.pinned) }
    return flags
  }
}
