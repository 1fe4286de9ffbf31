import Vitrine

/// Encoded with the names of the properties as keys.
extension StyleUse: Encodable {
  private enum Key: String, CodingKey { case style, budget, entryCount, byteCount }

  /// Encodes the style with its budget and its sums.
  public func encode(to encoder: any Encoder) throws {
    var values = encoder.container(keyedBy: Key.self)
    try values.encode(style, forKey: .style)
    try values.encode(budget, forKey: .budget)
    try values.encode(entryCount, forKey: .entryCount)
    try values.encode(byteCount, forKey: .byteCount)
  }
}

/// Encoded with the names of the properties as keys.
extension PinUse: Encodable {
  private enum Key: String, CodingKey { case entryCount, byteCount, mostEntries, mostBytes }

  /// Encodes the sums and the limits.
  public func encode(to encoder: any Encoder) throws {
    var values = encoder.container(keyedBy: Key.self)
    try values.encode(entryCount, forKey: .entryCount)
    try values.encode(byteCount, forKey: .byteCount)
    try values.encodeIfPresent(mostEntries, forKey: .mostEntries)
    try values.encode(mostBytes, forKey: .mostBytes)
  }
}

/// Encoded with the names of the properties as keys.
extension MissCurve: Encodable {
  private enum Key: String, CodingKey { case points, byteBudget, requestCount, missRatio }

  /// Encodes the curve.
  public func encode(to encoder: any Encoder) throws {
    var values = encoder.container(keyedBy: Key.self)
    try values.encode(points, forKey: .points)
    try values.encode(byteBudget, forKey: .byteBudget)
    try values.encode(requestCount, forKey: .requestCount)
    try values.encode(missRatio, forKey: .missRatio)
  }
}

/// Encoded with the names of the properties as keys.
extension MissCurve.Point: Encodable {
  private enum Key: String, CodingKey { case byteBudget, valueByteCount, missRatio }

  /// Encodes the point.
  public func encode(to encoder: any Encoder) throws {
    var values = encoder.container(keyedBy: Key.self)
    try values.encode(byteBudget, forKey: .byteBudget)
    try values.encode(valueByteCount, forKey: .valueByteCount)
    try values.encode(missRatio, forKey: .missRatio)
  }
}
