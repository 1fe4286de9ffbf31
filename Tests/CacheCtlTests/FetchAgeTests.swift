import CacheCtlKit
import Foundation
import LocalServer
import Testing

/// `cachectl fetch --max-age`.
@Suite struct FetchAgeTests {
  @Test func pictureAboveTheAgeLimitIsAskedForAgain() throws {
    let tool = try Tool()
    let server = try Photo.serve(["/a.jpg": Photo.jpeg()])
    let words = ["fetch", "s", server.url("/a.jpg"), "--style", "square-20", "--json"]
    for (limit, count) in [(nil, 1), ("7d", 1), ("0", 2), ("0s", 3), (nil, 3)] as [(String?, Int)] {
      let outcome = try tool.run(words + (limit.map { ["--max-age", $0] } ?? []))
      #expect(outcome.status == 0, "\(limit ?? "no limit")")
      #expect(server.requests.count == count, "\(limit ?? "no limit")")
    }
  }

  @Test(arguments: ["", "d", "1.5h", "-1", "5m", "36501d", "99999999999999999999", "1 d"])
  func invalidAgeIsRefused(_ text: String) throws {
    #expect(TimeSpan.seconds(text) == nil)
    let outcome = try Tool().run("fetch", "s", "http://localhost/", "--max-age", text)
    #expect(outcome.status == 2 && outcome.diagnostics.contains("is not a time"))
  }

  @Test(arguments: [
    ("0", 0), ("90", 90), ("90s", 90), ("30min", 1800), ("12h", 43_200), ("7d", 604_800), ("2w", 1_209_600),
  ])
  func timeIsReadInAnyOfItsUnits(_ text: String, _ seconds: Int) {
    #expect(TimeSpan.seconds(text) == seconds)
  }
}
