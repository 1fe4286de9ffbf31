import Foundation
import Testing

/// The help of `cachectl stat` names each field of its JSON.
@Suite struct StatHelpTests {
  let tool: Tool

  init() throws { tool = try Tool() }

  @Test func helpNamesEachFieldOfTheJSON() throws {
    #expect(try tool.run("put", "s", "u", input: Data("value".utf8)).status == 0)
    let fields = try #require(try tool.run("stat", "s", "--json").json)
    #expect(fields.count > 30)
    let help = try tool.run("help", "stat").text
    let words = Set(help.split { !($0.isLetter || $0.isNumber || $0 == "_") }.map(String.init))
    for name in fields.keys { #expect(words.contains(name), "the help of stat does not name \(name)") }
  }
}
