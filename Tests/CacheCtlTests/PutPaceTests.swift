import Foundation
import Testing

@testable import CacheCtlTool

/// Replays with a rate of puts.
@Suite struct PutPaceTests {
  private let tool: Tool

  init() throws {
    tool = try Tool()
    try tool.write(Data("1 100000\n1 100000\n2 100000\n3 1\n".utf8), to: "few")
  }

  @Test func putsWaitForTheBytesBeforeThem() throws {
    let outcome = try tool.run("replay", "few", "--budget", "2MiB", "--rate", "500KB", "--json", "--store", "s")
    #expect(outcome.status == 0, "\(outcome.diagnostics)")
    let json = try #require(outcome.json)
    #expect(json["rate"] as? Int == 500_000 && json["puts"] as? Int == 3)
    // The second and the third put have waited for 200 ms each, less the 10 ms that a pace may catch up. A hit does
    // not wait.
    let seconds = try #require(json["seconds"] as? Double)
    #expect(seconds >= 0.38)
  }

  @Test func textTellsTheRate() throws {
    let outcome = try tool.run("replay", "few", "--budget", "2MiB", "--rate", "1GB")
    #expect(outcome.text.contains("at most 1.0 GB were put in a second"), "\(outcome.text)")
    #expect(!(try tool.run("replay", "few", "--budget", "2MiB").text).contains("paused"))
  }

  @Test(arguments: ["0", "-1", "fast"])
  func rateMustBeASizeAboveZero(_ word: String) throws {
    let outcome = try tool.run("replay", "few", "--budget", "2MiB", "--rate=\(word)")
    #expect(outcome.status == 2 && outcome.diagnostics.contains("--rate"))
  }

  @Test func delayIsThatOfTheBytesPut() {
    var pace = PutPace(byteRate: 1000)
    #expect(pace.delay(at: 5_000_000_000) == 0)
    pace.note(500, at: 5_000_000_000)
    // A pace that has not begun is behind by its limit.
    #expect(pace.delay(at: 5_000_000_000) == 490_000_000)
    pace.note(500, at: 5_100_000_000)
    #expect(pace.delay(at: 5_100_000_000) == 890_000_000)
    // A long time without puts counts for a hundredth of a second.
    pace.note(100, at: 60_000_000_000)
    #expect(pace.delay(at: 60_000_000_000) == 90_000_000)
    #expect(pace.delay(at: 60_200_000_000) == 0)
  }

  @Test func extremeRatesAreHarmless() {
    for (byteRate, byteCount) in [(1, 1 << 30), (Int.max, 1 << 30), (1, 0), (Int.max, 1)] {
      var pace = PutPace(byteRate: byteRate)
      for _ in 0..<100 { pace.note(byteCount, at: 1_000_000_000) }
      #expect(byteCount == 0 || byteRate > 1 || pace.delay(at: 1_000_000_000) > 0)
    }
    var none = PutPace(byteRate: nil)
    none.note(1 << 30)
    #expect(none.delay(at: 0) == 0)
  }

  /// The second put would wait for more than a day. The interruption comes after the first one.
  @Test func interruptionEndsAWait() throws {
    let running = try tool.start("replay", "few", "--budget", "2MiB", "--rate", "1", "--store", "s")
    while try tool.run("get", "s", "1").status != 0 { usleep(1000) }
    running.interrupt()
    let outcome = running.outcome()
    #expect(outcome.status == 3 && outcome.diagnostics.contains("interrupted"))
    #expect(!FileManager.default.fileExists(atPath: tool.folder.appending(path: "s").path))
  }

  @Test func pathOfAKeptStoreIsTold() throws {
    let outcome = try tool.run("replay", "few", "--budget", "2MiB", "--store", "s", "--keep")
    #expect(outcome.status == 0 && outcome.diagnostics.contains("kept in s"))
  }
}
