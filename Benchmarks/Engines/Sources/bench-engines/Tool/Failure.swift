import Glibc

/// An error with a message for people.
struct Failure: Error, CustomStringConvertible {
  let description: String

  init(_ description: String) { self.description = description }

  static func system(_ call: String, _ code: CInt) -> Failure { Failure("\(call): \(String(cString: strerror(code)))") }
}
