import Foundation

@testable import VitrineImages

/// Answers at once, by the current script.
final class ScriptedLoader: ByteLoading {
  struct Answer: Sendable {
    var status = 200
    var headers: [String: String] = [:]
    var body: [UInt8] = []
  }

  typealias Script = @Sendable (LoadRequest) throws -> Answer

  private let script: Locked<Script>
  private let log = Locked<[LoadRequest]>([])

  init(_ script: @escaping Script) { self.script = Locked(script) }

  var requests: [LoadRequest] { log.withLock { $0 } }
  func answer(_ script: @escaping Script) { self.script.withLock { $0 = script } }

  func load(_ request: LoadRequest, _ receiver: any LoadReceiving) async throws {
    log.withLock { $0.append(request) }
    let answer = try script.withLock { $0 }(request)
    try receiver.begin(
      LoadResponse(status: answer.status, headers: answer.headers, expectedByteCount: answer.body.count))
    if !answer.body.isEmpty { try receiver.receive(Data(answer.body)) }
  }
}
