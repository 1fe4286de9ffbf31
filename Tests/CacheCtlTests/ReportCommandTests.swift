#if Server
  import Foundation
  import Testing

  /// `cachectl report` on real stores.
  @Suite struct ReportCommandTests {
    private let tool: Tool

    init() throws {
      tool = try Tool()
      #expect(try tool.run("put", "s", "u", "--style", "square-60", input: Data(repeating: 7, count: 5000)).status == 0)
    }

    private var names: [String] {
      get throws {
        try FileManager.default.contentsOfDirectory(atPath: tool.folder.path).filter { $0.hasPrefix(".cachectl") }
      }
    }

    @Test func reportWritesAPageUnderTheDefaultName() throws {
      let outcome = try tool.run("report", "s")
      #expect(outcome.status == 0)
      #expect(outcome.text.hasPrefix("report.html: 1 entry, "))
      let page = String(decoding: try #require(tool.read("report.html")), as: UTF8.self)
      #expect(page.hasPrefix("<!DOCTYPE html>"))
      #expect(page.contains("square-60"))
      #expect(page.hasSuffix("</html>\n"))
      #expect(try names.isEmpty)
    }

    @Test func reportToStandardOutputIsThePageAlone() throws {
      let outcome = try tool.run("report", "s", "--output", "-")
      #expect(outcome.status == 0)
      #expect(outcome.text.hasPrefix("<!DOCTYPE html>"))
      #expect(outcome.text.hasSuffix("</html>\n"))
      #expect(tool.read("-") == nil)
    }

    @Test func reportReplacesAFileAndKeepsItsLinkAndPermissions() throws {
      try tool.write(Data("old".utf8), to: "pages/old.html")
      let (link, file) = (tool.folder.path + "/link.html", tool.folder.path + "/pages/old.html")
      try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: "pages/old.html")
      try FileManager.default.setAttributes([.posixPermissions: 0o640], ofItemAtPath: file)
      #expect(try tool.run("report", "s", "--output", "link.html").status == 0)
      #expect(try FileManager.default.destinationOfSymbolicLink(atPath: link) == "pages/old.html")
      #expect(try #require(tool.read("pages/old.html")).starts(with: "<!DOCTYPE".utf8))
      let mode = try FileManager.default.attributesOfItem(atPath: file)[.posixPermissions] as? Int
      #expect(mode == 0o640)
    }

    @Test func reportThatCannotBeWrittenIsAnErrorAndLeavesNoFile() throws {
      try tool.write(Data(), to: "folder/x")
      let folder = try tool.run("report", "s", "--output", "folder")
      #expect(folder.status == 3)
      #expect(folder.diagnostics.contains("write folder: it is a folder"))
      #expect(try tool.run("report", "s", "--output", "none/report.html").status == 3)
      #expect(try tool.run("report", "s", "--output", "").status == 2)
      #expect(try tool.run("report", "s", "--output", "/dev/full").status == 3)
      #expect(try tool.run("report", "missing", "--output", "new.html").status == 3)
      #expect(tool.read("new.html") == nil)
      #expect(try names.isEmpty)
    }
  }
#endif
