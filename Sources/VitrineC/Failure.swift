import CVitrine
import Vitrine

/// An error to return to a caller in C.
struct Failure: Error {
  var status: vitrine_status
  var systemCode: Int32 = 0
  var processID: Int32 = 0
  var text: String

  static let badHandle = Failure(
    status: Status.badHandle, text: "the handle is NULL, of another kind, or released")

  static let noMemory = Failure(
    status: Status.system, systemCode: SystemError.noMemory, text: "memory is short")

  static func invalid(_ text: String) -> Failure { Failure(status: Status.invalidArgument, text: text) }

  init(status: vitrine_status, systemCode: Int32 = 0, processID: Int32 = 0, text: String) {
    self.status = status
    self.systemCode = systemCode
    self.processID = processID
    self.text = text
  }

  init(_ error: StoreError) {
    self.init(status: Status.of(error), text: error.description)
    switch error {
    case .writeFailed(let error), .system(let error): systemCode = error.code
    case .locked(let process): processID = process
    default: break
    }
  }

  /// Fills the caller's struct. A text that is too long is cut between two characters.
  func fill(_ error: UnsafeMutablePointer<vitrine_error>?) {
    guard let error else { return }
    let room = MemoryLayout.size(ofValue: vitrine_error().text) - 1
    var bytes = Array(text.utf8.prefix(room))
    if text.utf8.count > room {
      while let last = bytes.popLast(), last & 0xC0 == 0x80 {}
    }
    var result = vitrine_error()
    result.status = status
    result.system_code = systemCode
    result.process_id = processID
    withUnsafeMutableBytes(of: &result.text) { $0.copyBytes(from: bytes) }
    // The caller's pointer may be misaligned, so the struct is copied by bytes.
    withUnsafeBytes(of: &result) {
      UnsafeMutableRawPointer(error).copyMemory(from: $0.baseAddress!, byteCount: $0.count)
    }
  }
}

/// Calls `body`. If it throws, fills `error` and returns its status.
func reporting(
  _ error: UnsafeMutablePointer<vitrine_error>?, _ body: () throws -> vitrine_status
) -> vitrine_status {
  let failure: Failure
  do {
    return try body()
  } catch let error as Failure {
    failure = error
  } catch let error as StoreError {
    failure = Failure(error)
  } catch {
    failure = Failure(status: Status.system, text: "\(error)")
  }
  failure.fill(error)
  return failure.status
}
