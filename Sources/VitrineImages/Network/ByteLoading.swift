import Foundation

/// Loads the bytes behind a URL. ``HTTPLoader`` loads by HTTP; an app may load from other sources.
public protocol ByteLoading: Sendable {
  /// Loads bytes. Passes the response and then its bytes, in pieces, to `receiver`, from any thread but one call at a
  /// time, and returns after the last piece. If the receiver throws or the task is canceled, ends early and throws
  /// that error. Throws ``LoadError`` if the load fails.
  func load(_ request: LoadRequest, _ receiver: any LoadReceiving) async throws
}

/// Receives a response and its bytes.
public protocol LoadReceiving: Sendable {
  /// Receives the head of the response. Called once, before all bytes. An error that it throws ends the load, which
  /// throws the same error.
  func begin(_ response: LoadResponse) throws
  /// Receives the next bytes, in order. An error that it throws ends the load, which throws the same error.
  func receive(_ bytes: Data) throws
}
