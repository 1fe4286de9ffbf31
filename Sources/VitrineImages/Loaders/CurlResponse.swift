#if os(Linux)
  import CCurl
  import Foundation

  /// The response to the present request of a transfer, on its way to the receiver. The receiver gets no response of a
  /// redirect.
  struct CurlResponse {
    private let receiver: any LoadReceiving
    private var head = ResponseHead()
    private var decoder: ContentDecoder?
    private var hasBegun = false
    /// The first error of the response or of the receiver.
    private(set) var failure: (any Error)?
    private var ignoredByteCount = 0
    private var redirects: [[String: String]] = []

    /// The limit in bytes of a redirect's body. After a longer body, the connection is closed.
    private static let mostIgnoredByteCount = 64 << 10

    init(_ receiver: any LoadReceiving) { self.receiver = receiver }

    /// Begins the response to the next request, which the previous response asks for.
    mutating func restart() {
      if head.isComplete { redirects.append(LoadResponse.rules(ofRedirect: head.headers)) }
      head = ResponseHead()
      ignoredByteCount = 0
    }

    /// Adds a line of the head. Returns false if the transfer must end.
    mutating func receiveHeader(_ line: UnsafeRawBufferPointer, _ handle: CurlHandle) -> Bool {
      do {
        try head.add(line, status: handle.status)
        return true
      } catch {
        return fail(error)
      }
    }

    /// Takes bytes of the body. Returns false if the transfer must end.
    mutating func receiveBody(_ bytes: UnsafeRawBufferPointer, _ handle: CurlHandle) -> Bool {
      if !hasBegun, location(handle) != nil {
        ignoredByteCount += bytes.count
        return ignoredByteCount <= CurlResponse.mostIgnoredByteCount
      }
      do {
        try begin(handle)
        if let decoder {
          try decoder.decode(bytes) { try receiver.receive(Data($0)) }
        } else {
          try receiver.receive(Data(bytes))
        }
        return true
      } catch {
        return fail(error)
      }
    }

    private mutating func fail(_ error: any Error) -> Bool {
      failure = failure ?? error
      return false
    }

    /// The location that a redirect names, or nil.
    private func location(_ handle: CurlHandle) -> [UInt8]? {
      [301, 302, 303, 307, 308].contains(handle.status) ? head["location"] : nil
    }

    /// Returns the location to load next when libcurl has ended the request, or nil if the response is no redirect.
    func redirect(_ code: CURLcode, _ handle: CurlHandle) -> [UInt8]? {
      let isTooLong = code == CURLE_WRITE_ERROR && ignoredByteCount > CurlResponse.mostIgnoredByteCount
      return head.isComplete && !hasBegun && (code == CURLE_OK || isTooLong) ? location(handle) : nil
    }

    /// Checks the end of a body that libcurl has received whole.
    mutating func finish(_ handle: CurlHandle) throws {
      try begin(handle)
      try decoder?.finish()
    }

    /// Passes the head on, before the first byte of the body.
    private mutating func begin(_ handle: CurlHandle) throws {
      if hasBegun { return }
      hasBegun = true
      let status = handle.status
      guard head.isComplete, (100...999).contains(status) else {
        throw LoadError.interrupted("the response has no valid head")
      }
      if let coding = head["transfer-encoding"], !ContentDecoder.isPlainTransfer(ResponseHead.text(coding)) {
        throw LoadError.interrupted("the body has a transfer encoding that is not supported")
      }
      if let coding = head["content-encoding"] { decoder = try ContentDecoder(ResponseHead.text(coding)) }
      try receiver.begin(
        LoadResponse(
          status: status, headers: head.headers, expectedByteCount: handle.expectedByteCount, redirects: redirects))
    }
  }
#endif
