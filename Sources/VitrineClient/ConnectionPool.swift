import Synchronization

/// The idle connections of a client. Sends requests over them, or over new ones.
///
/// Thread-safe.
final class ConnectionPool: Sendable {
  private struct State {
    var idle: [ServerConnection] = []
    var processID = currentProcessID()
  }

  private let path: String
  private let timeoutMilliseconds: Int
  private let state = Mutex(State())

  /// The most idle connections. Further ones are closed, unless the client holds values that they passed.
  private static let mostIdle = 16

  init(path: String, timeoutMilliseconds: Int) {
    self.path = path
    self.timeoutMilliseconds = timeoutMilliseconds
  }

  /// Begins the time limit of a call.
  func begin() -> CallLimit { CallLimit(timeoutMilliseconds: timeoutMilliseconds) }

  func exchange(_ request: Request) throws(ClientError) -> Answer {
    var limit = begin()
    return try exchange(request, &limit)
  }

  /// Sends a request, and returns the answer. If an idle connection proves to be closed, sends the request over another
  /// one. A request that changes something is repeated only if the server has received no part of it.
  func exchange(_ request: Request, _ limit: inout CallLimit) throws(ClientError) -> Answer {
    while let kept = take() {
      do throws(Interruption) {
        return try exchange(request, over: kept, &limit)
      } catch {
        // The server closes idle connections, and all of them when it restarts.
        guard error.allowsRepeating(request) else { throw error.error }
      }
    }
    let connection = try ServerConnection(path: path, limit)
    do throws(Interruption) {
      return try exchange(request, over: connection, &limit)
    } catch {
      throw error.error
    }
  }

  private func exchange(
    _ request: Request, over connection: ServerConnection, _ limit: inout CallLimit
  ) throws(Interruption) -> Answer {
    var isLast = true
    // Values that the program holds keep the object of the connection. The end of the socket releases them at the
    // server, and their mappings stay.
    defer { if isLast { connection.end() } }
    let answer = try connection.exchange(request, &limit)
    isLast = answer.isLast
    if !isLast { give(connection) }
    return answer
  }

  /// Sends requests over each idle connection until its released values are sent. The end of a connection releases its
  /// values, so it is no error.
  func release(by request: Request) throws(ClientError) {
    while let connection = take(mustRelease: true) {
      var limit = begin()
      do throws(Interruption) {
        _ = try exchange(request, over: connection, &limit)
      } catch {
        guard error.isEnd else { throw error.error }
      }
    }
  }

  /// Takes an idle connection with values to release. If there is none, takes the one used last unless `mustRelease`.
  private func take(mustRelease: Bool = false) -> ServerConnection? {
    state.withLock { state in
      dropInherited(&state)
      let releasing = state.idle.lastIndex { $0.hasReleases }
      return (releasing ?? (mustRelease ? nil : state.idle.indices.last)).map { state.idle.remove(at: $0) }
    }
  }

  private func give(_ connection: ServerConnection) {
    state.withLock { state in
      dropInherited(&state)
      if state.idle.count < ConnectionPool.mostIdle || connection.holdsValues { state.idle.append(connection) }
    }
  }

  /// Drops the connections in a forked child, because the parent still uses them.
  private func dropInherited(_ state: inout State) {
    let processID = currentProcessID()
    if state.processID != processID { state = State() }
  }
}
