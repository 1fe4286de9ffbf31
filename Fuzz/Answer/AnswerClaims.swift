import Dispatch
import Foundation
import FuzzSupport

@testable import VitrineImages

/// The claims about a load whose server answers with arbitrary bytes: it ends with a result or an error. The receiver
/// gets one valid head, before all bytes, and at most one piece beyond its limit.
struct AnswerClaims {
  private static let mostBytes = 256 << 10
  private static let loader = CurlLoader(timeoutSeconds: 0.05, mostSeconds: 2, mostRedirects: 3)

  private let mode: UInt8
  private let bytes: [UInt8]

  init(mode: UInt8, bytes: [UInt8]) {
    self.mode = mode
    self.bytes = bytes
  }

  private final class Receiver: LoadReceiving {
    let state = Locked((response: LoadResponse?.none, byteCount: 0))

    func begin(_ response: LoadResponse) throws {
      claim((100...999).contains(response.status), "status \(response.status)")
      claim((response.expectedByteCount ?? 0) >= 0, "a negative length")
      for name in response.headers.keys { claim(!name.isEmpty, "a header without a name") }
      state.withLock { state in
        claim(state.response == nil && state.byteCount == 0, "a second head")
        state.response = response
      }
    }

    func receive(_ bytes: Data) throws {
      let count = state.withLock { state in
        claim(state.response != nil, "bytes before the head")
        state.byteCount += bytes.count
        return state.byteCount
      }
      claim(count <= AnswerClaims.mostBytes + ContentDecoder.pieceByteCount, "\(count) bytes after the limit")
      if count > AnswerClaims.mostBytes { throw LoadError.tooLarge(limit: AnswerClaims.mostBytes) }
    }
  }

  func check() {
    let size = 1 << (2 * (1 + Int(mode & 7)))
    // Very small pieces of a long answer would take long, and show nothing that the first pieces do not.
    let least = max(size, bytes.count / 64)
    AnswerServer.shared.set(
      .init(
        pieces: stride(from: 0, to: bytes.count, by: max(1, least)).map {
          Array(bytes[$0..<min($0 + least, bytes.count)])
        }, staysOpen: mode & 16 != 0))
    let receiver = Receiver()
    let url = "\(mode & 8 == 0 ? "http" : "https")://example.invalid/a"
    let done = DispatchSemaphore(value: 0)
    let isKnown = Locked(false)
    Task {
      do {
        try await AnswerClaims.loader.load(LoadRequest(url: url), receiver)
        claim(receiver.state.withLock { $0.response != nil }, "a result without a head")
        isKnown.withLock { $0 = true }
      } catch {
        isKnown.withLock { $0 = error is LoadError }
      }
      done.signal()
    }
    claim(done.wait(timeout: .now() + 15) == .success, "the load does not end")
    claim(isKnown.withLock { $0 }, "an unknown error")
  }
}
