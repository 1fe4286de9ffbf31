/// Whether a client has sent the credentials that a server may ask for.
struct ClientLogin {
  private let credentials: Credentials?
  /// Whether the client may send requests other than its credentials.
  private(set) var isDone: Bool
  private var failureCount = 0

  private static let mostFailures = 10

  /// Without credentials, every client may send requests.
  init(_ credentials: Credentials?) {
    self.credentials = credentials
    isDone = credentials == nil
  }

  /// Whether the client has failed too often, so that its connection ends.
  var isRefused: Bool { failureCount >= ClientLogin.mostFailures }

  /// Returns whether the text has valid credentials. Then the client may send requests.
  mutating func admit(_ text: [UInt8]) -> Bool {
    guard credentials?.allow(text) == true else { return false }
    isDone = true
    return true
  }

  /// Notes a request without valid credentials.
  mutating func noteFailure() { failureCount += 1 }
}
