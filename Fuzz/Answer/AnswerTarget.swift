import FuzzSupport

#if canImport(Glibc)
  import Glibc
#endif

/// The bytes of a server's answer. The first byte says how they are sent:
///
/// - bits 0 to 2: the size of the pieces, 2 to the power of 2, 4, ... 16; a large piece sends all at once
/// - bit 3: the URL is `https:`, so the answer is that of a proxy, or of a server that does not speak TLS
/// - bit 4: the connection stays open for another request, which gets the same answer, until the client closes it
@_cdecl("LLVMFuzzerTestOneInput")
public func testOneAnswer(_ start: UnsafePointer<UInt8>?, _ byteCount: Int) -> CInt {
  var input = FuzzInput(start, byteCount)
  let mode = input.byte()
  AnswerClaims(mode: mode, bytes: input.rest()).check()
  return 0
}

@_cdecl("LLVMFuzzerInitialize")
public func initializeAnswer() -> CInt {
  // All requests go to the server of this process, also after a redirect to another one.
  let proxy = "http://127.0.0.1:\(AnswerServer.shared.port)"
  for name in ["http_proxy", "https_proxy"] { setenv(name, proxy, 1) }
  for name in ["no_proxy", "NO_PROXY", "all_proxy", "ALL_PROXY", "HTTPS_PROXY", "SSL_CERT_FILE"] { unsetenv(name) }
  Preparation.run { AnswerSeeds.all() }
  return 0
}
