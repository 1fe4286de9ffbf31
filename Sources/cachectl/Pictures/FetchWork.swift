import Dispatch
import Foundation
import VitrineImages

/// The result of one request.
struct Fetched: Sendable {
  let request: PictureRequest
  let result: Result<PictureResponse, any Error>
  let milliseconds: Double
}

/// Loads pictures through a pipeline, several at once, and passes the results to the waiting thread.
final class FetchWork: Sendable {
  /// The number of concurrent URLs. The pipeline itself limits its downloads.
  private static let width = 12
  private static let mostRenewalSeconds = 10

  /// The requests of one URL. They run together, since they share its download, but a repeated style goes to a later
  /// round.
  private typealias Rounds = [[(index: Int, request: PictureRequest)]]

  private let requests: [PictureRequest]
  private let pipeline: PicturePipeline
  private let arrived = Locked<[(index: Int, fetched: Fetched)]>([])
  private let arrival = DispatchSemaphore(value: 0)

  init(_ requests: [PictureRequest], _ pipeline: PicturePipeline) {
    self.requests = requests
    self.pipeline = pipeline
  }

  /// Calls `each` on this thread for every result, in order of arrival, and `wait` about every 100 ms. If `wait`
  /// returns false or `each` throws, all work is canceled; canceled requests still arrive, as errors. Returns when
  /// no request is left. After `each` has thrown, it is not called again, and its error is rethrown at the end.
  func run(each: (Int, Fetched) throws -> Void, wait: (_ left: Int) -> Bool) throws {
    let task = Task.detached { [self] in await work() }
    var left = requests.count
    var failure: (any Error)?
    while left > 0 {
      if !wait(left) { task.cancel() }
      _ = arrival.wait(timeout: .now() + .milliseconds(100))
      let news = arrived.withLock { arrived in
        defer { arrived = [] }
        return arrived
      }
      left -= news.count
      for (index, fetched) in news where failure == nil {
        do {
          try each(index, fetched)
        } catch {
          failure = error
          task.cancel()
        }
      }
    }
    waitForRenewals { failure == nil && wait(0) }
    if let failure { throw failure }
  }

  /// Waits for the revalidations that run in the background, but not longer than ``mostRenewalSeconds``. Then
  /// cancels them.
  private func waitForRenewals(_ wait: () -> Bool) {
    let end = DispatchTime.now() + .seconds(FetchWork.mostRenewalSeconds)
    let hasEnded = DispatchSemaphore(value: 0)
    let task = Task.detached { [self] in
      await pipeline.finishRenewals()
      hasEnded.signal()
    }
    while wait(), DispatchTime.now() < end {
      if hasEnded.wait(timeout: .now() + .milliseconds(100)) == .success { return }
    }
    task.cancel()
    hasEnded.wait()
  }

  /// Runs `body`, and blocks this thread until it ends.
  static func wait(_ body: @escaping @Sendable () async -> Void) {
    let end = DispatchSemaphore(value: 0)
    Task.detached {
      await body()
      end.signal()
    }
    end.wait()
  }

  private func work() async {
    await withTaskGroup(of: Void.self) { group in
      for (number, rounds) in byURL().enumerated() {
        if number >= FetchWork.width { await group.next() }
        group.addTask { [self] in for round in rounds { await load(round) } }
      }
    }
  }

  private func byURL() -> [Rounds] {
    var places: [String: Int] = [:]
    var all: [Rounds] = []
    for (index, request) in requests.enumerated() {
      let place = places[request.url, default: all.count]
      if place == all.count { all.append([]) }
      places[request.url] = place
      let round = all[place].firstIndex { !$0.contains { $0.request.style == request.style } }
      if let round { all[place][round].append((index, request)) } else { all[place].append([(index, request)]) }
    }
    return all
  }

  private func load(_ round: [(index: Int, request: PictureRequest)]) async {
    await withTaskGroup(of: Void.self) { group in
      for (index, request) in round { group.addTask { [self] in await load(index, request) } }
    }
  }

  private func load(_ index: Int, _ request: PictureRequest) async {
    let start = DispatchTime.now().uptimeNanoseconds
    let result: Result<PictureResponse, any Error>
    do {
      try Task.checkCancellation()
      result = .success(try await pipeline.image(for: request))
    } catch {
      result = .failure(error)
    }
    let milliseconds = Double(DispatchTime.now().uptimeNanoseconds - start) / 1e6
    arrived.withLock {
      $0.append((index, Fetched(request: request, result: result, milliseconds: milliseconds)))
    }
    arrival.signal()
  }
}
