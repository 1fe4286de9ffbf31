#if Server
  import Synchronization
  import VitrineServer

  /// The pictures that are being made, limited in all and for each server, so that a slow server does not take the
  /// places of others. Requests for one picture share its place. Those without a place wait in their order.
  /// Thread-safe. O(waiting requests) for each change.
  final class PicturePlaces: Sendable {
    private struct Place {
      let server: String
      var requestCount = 1
    }

    private struct Waiter {
      let number: Int
      let picture: PictureQuery
      let server: String
      let continuation: CheckedContinuation<Bool, Never>
    }

    private struct State {
      var places: [PictureQuery: Place] = [:]
      /// The places of each server.
      var counts: [String: Int] = [:]
      var waiting: [Waiter] = []
      var lastNumber = 0
    }

    private let most: Int
    private let mostPerServer: Int
    private let state = Mutex(State())

    init(most: Int, mostPerServer: Int) {
      self.most = most
      self.mostPerServer = mostPerServer
    }

    /// The number of requests that wait for a place.
    var waitingCount: Int { state.withLock { $0.waiting.count } }

    /// Whether a picture has a place.
    func has(_ picture: PictureQuery) -> Bool { state.withLock { $0.places[picture] != nil } }

    /// Calls `body` when the picture has a place. Throws `CancellationError` if the task is canceled before.
    func run<R: Sendable>(
      _ picture: PictureQuery, of server: String, _ body: @Sendable () async throws -> R
    ) async throws -> R {
      guard await enter(picture, server) else { throw CancellationError() }
      defer { leave(picture) }
      return try await body()
    }

    private func enter(_ picture: PictureQuery, _ server: String) async -> Bool {
      let number = state.withLock { state in
        state.lastNumber += 1
        return state.lastNumber
      }
      return await withTaskCancellationHandler {
        await withCheckedContinuation { continuation in
          let isIn = state.withLock { state -> Bool? in
            // A later cancellation finds the waiter.
            if Task.isCancelled { return false }
            if take(picture, server, &state) { return true }
            state.waiting.append(Waiter(number: number, picture: picture, server: server, continuation: continuation))
            return nil
          }
          if let isIn { continuation.resume(returning: isIn) }
        }
      } onCancel: {
        let waiter = state.withLock { state in
          state.waiting.firstIndex { $0.number == number }.map { state.waiting.remove(at: $0) }
        }
        waiter?.continuation.resume(returning: false)
      }
    }

    /// Returns false if there is no free place.
    private func take(_ picture: PictureQuery, _ server: String, _ state: inout State) -> Bool {
      if state.places[picture] != nil {
        state.places[picture]?.requestCount += 1
        return true
      }
      guard state.places.count < most, state.counts[server, default: 0] < mostPerServer else { return false }
      state.places[picture] = Place(server: server)
      state.counts[server, default: 0] += 1
      return true
    }

    private func leave(_ picture: PictureQuery) {
      let admitted = state.withLock { state -> [Waiter] in
        guard var place = state.places[picture] else { return [] }
        place.requestCount -= 1
        state.places[picture] = place.requestCount > 0 ? place : nil
        if place.requestCount > 0 { return [] }
        let count = state.counts[place.server, default: 1] - 1
        state.counts[place.server] = count > 0 ? count : nil
        var admitted: [Waiter] = []
        var waiting: [Waiter] = []
        for waiter in state.waiting {
          if take(waiter.picture, waiter.server, &state) { admitted.append(waiter) } else { waiting.append(waiter) }
        }
        state.waiting = waiting
        return admitted
      }
      for waiter in admitted { waiter.continuation.resume(returning: true) }
    }
  }
#endif
