#if os(Linux)
  import CCurl
  import Foundation
  import Glibc

  /// A load by libcurl, with one easy handle for all redirects.
  ///
  /// Invariant: after ``CurlLoop/start(_:_:)`` has added the transfer, only the loop's thread uses it. libcurl calls
  /// the functions on that thread.
  final class CurlTransfer: PlacedTransfer, @unchecked Sendable {
    enum Outcome {
      /// Nil stands for success.
      case ended((any Error)?)
      /// The loop must add the handle again.
      case redirected
    }

    /// The loop provides the handle from the first request to the end, and then takes it back, so libcurl no longer
    /// uses the memory of this transfer.
    var handle: CurlHandle?
    /// The identity by which the loop finds this transfer. The reference keeps it from being reused.
    var load: CurlLoop.Load?
    /// The server to which this transfer counts, also after a redirect, and whether it counts as running.
    let place: WebAddress.Origin
    var holdsPlace = false

    private let settings: CurlSettings
    private var continuation: CheckedContinuation<Void, any Error>?
    private var clock: TransferClock
    private var request: CurlRequest
    private var response: CurlResponse
    private let errorText = CurlErrorText()
    /// Whether a connection to a private address was refused.
    private var metPrivateAddress = false

    init(
      _ address: WebAddress, _ headers: RequestHeaders, _ receiver: any LoadReceiving, _ settings: CurlSettings,
      _ continuation: CheckedContinuation<Void, any Error>
    ) {
      place = address.origin
      self.settings = settings
      self.continuation = continuation
      clock = TransferClock(settings)
      request = CurlRequest(address, headers)
      response = CurlResponse(receiver)
    }

    /// The time at which this transfer times out unless there is more activity.
    var deadline: UInt64 { clock.deadline }

    /// A time before which this transfer does not time out, even if it gets a connection now.
    func earliestDeadline(_ now: UInt64) -> UInt64 { clock.earliestDeadline(now) }

    var isEnded: Bool { continuation == nil }

    /// Resumes the caller. Nil stands for success.
    func finish(_ error: (any Error)?) {
      let continuation = continuation
      self.continuation = nil
      if let error { continuation?.resume(throwing: error) } else { continuation?.resume() }
    }

    /// Prepares for the next request, at the location of a redirect. Returns false if memory is short.
    func renewHandle() -> Bool {
      guard !CurlHandle.mayRunAgain, let old = handle else { return true }
      guard let new = old.renewed(settings) else { return false }
      handle = new
      old.free()
      return true
    }

    /// Prepares the handle for the present address. Returns false if memory is short.
    func prepare() -> Bool {
      response.restart()
      metPrivateAddress = false
      guard let handle else { return false }
      errorText.set(in: handle)
      let context = Unmanaged.passUnretained(self).toOpaque()
      clock.begin(
        waitIsReported: vitrine_curl_set_functions(handle.pointer, CurlTransfer.functions, context))
      return request.set(in: handle, settings)
    }

    /// Returns the outcome of the transfer when libcurl has ended the request.
    func outcome(_ code: CURLcode) -> Outcome {
      if let failure = response.failure { return .ended(failure) }
      guard let handle else { return .ended(errorText.error(code, at: request.address)) }
      do {
        if let location = response.redirect(code, handle) {
          try request.follow(location, settings)
          return .redirected
        }
        if code == CURLE_COULDNT_CONNECT, metPrivateAddress {
          return .ended(LoadError.forbidden("its address is not a public one"))
        }
        guard code == CURLE_OK else { return .ended(errorText.error(code, at: request.address)) }
        try response.finish(handle)
        return .ended(nil)
      } catch {
        return .ended(error)
      }
    }

    // MARK: The functions that libcurl calls

    private static let functions = vitrine_curl_functions(
      header: { bytes, size, count, context in
        CurlTransfer.call(context, size * count) { transfer, handle, count in
          transfer.response.receiveHeader(UnsafeRawBufferPointer(start: bytes, count: count), handle)
        }
      },
      body: { bytes, size, count, context in
        CurlTransfer.call(context, size * count) { transfer, handle, count in
          transfer.response.receiveBody(UnsafeRawBufferPointer(start: bytes, count: count), handle)
        }
      },
      resolve: { _, _, context in
        _ = CurlTransfer.call(context, 0) { _, _, _ in true }
        return 0
      },
      open_socket: { context, _, address in
        _ = CurlTransfer.call(context, 0) { _, _, _ in true }
        guard let context, let address,
          Unmanaged<CurlTransfer>.fromOpaque(context).takeUnretainedValue().mayConnect(to: address)
        else { return CURL_SOCKET_BAD }
        // Programs that this process starts must not inherit the socket.
        return socket(
          address.pointee.family, address.pointee.socktype | Int32(SOCK_CLOEXEC.rawValue), address.pointee.protocol)
      },
      request: { context, _, _, _, _ in
        _ = CurlTransfer.call(context, 0) { _, _, _ in true }
        return 0
      })

    private func mayConnect(to address: UnsafePointer<curl_sockaddr>) -> Bool {
      if settings.allowsPrivateAddresses || PublicAddress.isPublic(address) { return true }
      metPrivateAddress = true
      return false
    }

    /// Records activity, and calls `body` with the transfer. Returns the number of bytes taken: all, or none to end the
    /// transfer.
    private static func call(
      _ context: UnsafeMutableRawPointer?, _ count: Int, _ body: (CurlTransfer, CurlHandle, Int) -> Bool
    ) -> Int {
      guard let context else { return 0 }
      let transfer = Unmanaged<CurlTransfer>.fromOpaque(context).takeUnretainedValue()
      transfer.clock.noteActivity()
      guard let handle = transfer.handle else { return 0 }
      return body(transfer, handle, count) ? count : 0
    }
  }
#endif
