import CBench

/// Compares the values that an engine returns with the expected bytes, outside of all measurements.
struct SelfCheck {
  let name: String
  let session: any EngineSession
  private let keys = KeyBuffer()

  init(_ name: String, _ session: any EngineSession) {
    self.name = name
    self.session = session
  }

  /// The value of the key must be exactly these bytes, for every kind of get.
  func expect(_ number: Int, _ expected: UnsafeRawBufferPointer) throws {
    let key = keys.key(number)
    var isEqual = false
    let isFound = try session.withValue(key) { value in
      isEqual = value.count == expected.count && value.elementsEqual(expected)
    }
    guard isFound else { throw Failure("\(name): value \(number) is missing") }
    guard isEqual else { throw Failure("\(name): value \(number) has wrong bytes") }
    guard try session.touch(key) == bench_touch(expected.baseAddress, expected.count) else {
      throw Failure("\(name): the get of 64 bytes of value \(number) returns wrong bytes")
    }
    guard try session.consume(key) == bench_consume(expected.baseAddress, expected.count) else {
      throw Failure("\(name): the get of all bytes of value \(number) returns wrong bytes")
    }
    guard try session.contains(key) else { throw Failure("\(name): contains does not find value \(number)") }
  }

  /// There must be no value.
  func expectMiss(_ number: Int) throws {
    let key = keys.key(number)
    var isFound = try session.withValue(key) { _ in }
    isFound = try isFound || session.contains(key)
    let touched = try session.touch(key)
    let consumed = try session.consume(key)
    guard !isFound, touched == nil, consumed == nil else {
      throw Failure("\(name): key \(number) has a value, and should have none")
    }
  }
}
