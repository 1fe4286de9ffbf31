import FuzzSupport

/// The bytes that a client sends to the server. The first byte says how they arrive:
///
/// - bit 0: the client speaks HTTP rather than the memcached protocol
/// - bit 1: the server is read-only
/// - bits 2 to 4: the size of the pieces, 2 to the power of 1, 3, ... 15
/// - bit 5: the client of HTTP has a Unix socket, over which descriptors can be passed
@_cdecl("LLVMFuzzerTestOneInput")
public func testOneRequest(_ start: UnsafePointer<UInt8>?, _ byteCount: Int) -> CInt {
  var input = FuzzInput(start, byteCount)
  let mode = input.byte()
  RequestClaims(mode: mode, bytes: input.rest()).check()
  return 0
}

@_cdecl("LLVMFuzzerInitialize")
public func initializeRequest() -> CInt {
  _ = ServedStore.shared
  Preparation.run { RequestSeeds.all() }
  return 0
}
