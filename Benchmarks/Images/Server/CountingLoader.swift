import Foundation
import VitrineImages

/// Counts network traffic, below every layer that may coalesce or repeat requests. Safe from any thread.
final class CountingLoader: ByteLoading {
  struct Count: Codable, Sendable {
    var requests = 0
    /// The bytes of bodies.
    var bytes = 0
  }

  private final class Receiver: LoadReceiving {
    let receiver: any LoadReceiving
    let total: Locked<Count>

    init(_ receiver: any LoadReceiving, _ total: Locked<Count>) {
      self.receiver = receiver
      self.total = total
    }

    func begin(_ response: LoadResponse) throws { try receiver.begin(response) }

    func receive(_ bytes: Data) throws {
      total.withLock { $0.bytes += bytes.count }
      try receiver.receive(bytes)
    }
  }

  private let loader: any ByteLoading
  private let total = Locked(Count())

  init(_ loader: any ByteLoading = HTTPLoader()) { self.loader = loader }

  var count: Count { total.withLock { $0 } }

  func load(_ request: LoadRequest, _ receiver: any LoadReceiving) async throws {
    total.withLock { $0.requests += 1 }
    try await loader.load(request, Receiver(receiver, total))
  }
}
