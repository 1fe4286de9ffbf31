import Foundation
import Testing

/// `kill -9` at any moment of an import, many times in a row.
@Suite struct KilledImportTests {
  @Test(arguments: [[], ["--sync"]])
  func printedImportsSurviveAKill(_ options: [String]) throws {
    let tool = try Tool()
    for number in 0..<400 {
      let size = 100 + (number * 7919) % 30_000
      try tool.write(Data((0..<size).map { _ in UInt8.random(in: 0...255) }), to: "pictures/\(number % 20)/\(number)")
    }
    var acknowledged: Set<String> = []
    for round in 0..<10 {
      let killed = try tool.runKilled(
        ["import", "s", "pictures", "--url-prefix", "r\(round)/", "--budget", "512MiB", "--json"] + options,
        afterMicroseconds: UInt32.random(in: 1000...150_000))
      for line in killed.lines { if let url = line["url"] as? String { acknowledged.insert(url) } }
      let verified = try tool.run("verify", "s", "--json")
      // Before the folder was made there is nothing to verify.
      if verified.status == 3, acknowledged.isEmpty { continue }
      #expect(verified.status == 0, "\(verified.text)")
      #expect(verified.json?["ok"] as? Bool == true)
      let keys = Set(try tool.run("ls", "s", "--json").lines.compactMap { $0["url"] as? String })
      #expect(acknowledged.isSubset(of: keys))
    }
    for url in acknowledged.sorted().prefix(20) {
      let path = "pictures/" + url.split(separator: "/").dropFirst().joined(separator: "/")
      #expect(try tool.run("get", "s", url).output == tool.read(path))
    }
  }
}
