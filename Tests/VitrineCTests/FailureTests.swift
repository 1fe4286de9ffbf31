import CVitrine
import Testing
import Vitrine

@testable import VitrineC

@Suite struct FailureTests {
  @Test func eachErrorOfTheEngineHasAStatusOfItsOwn() {
    let system = SystemError(code: 5, operation: "write", path: "a")
    let errors: [StoreError] = [
      .noSpace, .tooLarge(byteCount: 2, limit: 1), .invalidArgument("a"), .writeFailed(system), .locked(processID: 7),
      .notAStore(path: "a", reason: "b"), .unsupportedFormat(found: 2, supported: 1), .noSuchStore(path: "a"), .closed,
      .readOnly, .aborted, .storeRemoved, .unreadable(path: "a", reason: "b"), .system(system),
    ]
    let statuses = errors.map { Failure($0).status }
    #expect(Set(statuses).count == errors.count && statuses.allSatisfy { $0 < 0 })
    for error in errors { #expect(Failure(error).text == error.description) }
    #expect(Failure(.writeFailed(system)).systemCode == 5 && Failure(.locked(processID: 7)).processID == 7)
    let texts = (-15...2).map { String(cString: vitrine_status_text(Int32($0))) }
    #expect(Set(texts).count == 18 && !texts.contains("unknown status"))
    #expect(String(cString: vitrine_status_text(-99)) == "unknown status")
  }

  @Test func aLongTextIsCutBetweenCharacters() {
    var error = vitrine_error()
    Failure(status: -1, text: String(repeating: "é", count: 400)).fill(&error)
    #expect(error.message == String(repeating: "é", count: 247))
    Failure(status: -1, text: String(repeating: "a", count: 495)).fill(&error)
    #expect(error.message.utf8.count == 495)
  }

  @Test func theErrorIsNotTouchedIfTheCallSucceeds() throws {
    let store = try TestStore()
    var error = vitrine_error()
    error.status = 77
    #expect(vitrine_put(store.handle, "a", 1, nil, 0, "a", 1, nil, &error) == VITRINE_OK && error.status == 77)
    #expect(vitrine_remove(store.handle, "b", 1, nil, 0, 0, &error) == VITRINE_NOT_FOUND && error.status == 77)
  }

  @Test func theVersionIsThatOfTheEngine() {
    #expect(String(cString: vitrine_version()) == CacheStore.version)
    #expect(vitrine_format_version() == CacheStore.formatVersion)
  }
}
