import Foundation
import LocalServer
import Testing
import Vitrine
import VitrineImages

/// `cachectl fetch` with a real server and a real store.
@Suite struct FetchTests {
  private let tool: Tool

  init() throws { tool = try Tool() }

  private func sum(_ name: String, _ objects: [[String: Any]]) -> Int {
    objects.compactMap { $0[name] as? Int }.reduce(0, +)
  }

  private func texts(_ name: String, _ objects: [[String: Any]]) -> [String?] { objects.map { $0[name] as? String } }

  @Test func picturesAreLoadedOnceAndThenComeFromTheStore() throws {
    let (one, two) = (try Photo.jpeg(200, 150, 1), try Photo.jpeg(300, 300, 2))
    let server = try Photo.serve(["/1.jpg": one, "/2.jpg": two], delay: 500)
    let words = [
      "fetch", "s", server.url("/1.jpg"), server.url("/2.jpg"), "--style", "square-40", "--style",
      "rounded-30x20-r5@2x", "--json", "--keep", "both",
    ]
    let cold = try tool.run(words)
    #expect(cold.status == 0 && cold.diagnostics.isEmpty)
    let paths = ["/1.jpg", "/1.jpg", "/2.jpg", "/2.jpg"]
    #expect(texts("url", cold.objects) == paths.map { server.url($0) })
    #expect(
      texts("style", cold.objects) == ["square-40", "rounded-30x20-r5@2x", "square-40", "rounded-30x20-r5@2x"])
    #expect(texts("source", cold.objects) == Array(repeating: "network", count: 4))
    #expect(cold.objects.map { $0["width"] as? Int } == [40, 60, 40, 60])
    #expect(cold.objects.map { $0["height"] as? Int } == [40, 40, 40, 40])
    #expect(sum("requests", cold.objects) == 2 && sum("bytes_received", cold.objects) == one.count + two.count)
    #expect(sum("decodes", cold.objects) >= 2)
    #expect(cold.objects.allSatisfy { ($0["milliseconds"] as? Double ?? -1) > 0 && $0["error"] == nil })

    let warm = try tool.run(words)
    #expect(warm.status == 0)
    #expect(texts("source", warm.objects) == Array(repeating: "styled", count: 4))
    #expect(sum("requests", warm.objects) == 0 && sum("decodes", warm.objects) == 0)
    #expect(sum("bytes_received", warm.objects) == 0)
    #expect(server.requests.count == 2)

    #expect((cold.objects + warm.objects).allSatisfy { $0["kept"] as? Bool == true })
    let other = try tool.run("fetch", "s", server.url("/1.jpg"), "--style", "square-20", "--json")
    #expect(texts("source", other.objects) == ["original"])
    #expect(sum("requests", other.objects) == 0 && sum("decodes", other.objects) == 1)
    #expect(server.requests.count == 2)
  }

  /// Pictures that are evicted again, and one that the store refuses.
  @Test func pictureThatIsNotKeptIsReported() throws {
    let many = try (0..<12).map { ("/\($0).jpg", try Photo.jpeg(320, 320, $0)) }
    let server = try Photo.serve(Dictionary(uniqueKeysWithValues: many))
    let words = ["fetch", "s"] + many.map { server.url($0.0) } + ["--style", "square-300", "--keep", "styled"]
    let outcome = try tool.run(words + ["--budget", "2MB"])
    #expect(outcome.status == 4)
    #expect(outcome.text.contains("of these pictures; the budget is 2.0 MB"))
    let json = try tool.run(words + ["--json"])
    let kept = json.objects.count { $0["kept"] as? Bool == true }
    #expect(json.status == 4 && json.objects.count == 12 && (1..<12).contains(kept))
    let refused = try tool.run(
      "fetch", "t", server.url("/0.jpg"), "--style", "square-1000", "--keep", "styled", "--budget", "2MB", "--json")
    #expect(refused.status == 4 && refused.objects.map { $0["kept"] as? Bool } == [false])
    let enough = try tool.run(words + ["--budget", "64MB"])
    #expect(enough.status == 0 && !enough.text.contains("not kept"))
  }

  @Test func failedURLIsNamedAndTheOthersContinue() throws {
    let server = try Photo.serve(["/a.jpg": Photo.jpeg(), "/b.jpg": Photo.jpeg(), "/text": Array("no picture".utf8)])
    let urls = ["/a.jpg", "/none.jpg", "/text", "/b.jpg"].map { server.url($0) }
    let outcome = try tool.run(["fetch", "s"] + urls + ["--style", "square-40"])
    #expect(outcome.status == 1)
    let lines = outcome.text.split(separator: "\n")
    #expect(lines.count == 2 && lines[0].hasPrefix(urls[0]) && lines[1].hasPrefix(urls[3]))
    #expect(lines.allSatisfy { $0.contains("40x40") && $0.contains("network") && $0.contains("1 request ") })
    #expect(outcome.diagnostics.contains("cachectl fetch: \(urls[1]) (square-40): the server answered 404\n"))
    #expect(outcome.diagnostics.contains("cachectl fetch: \(urls[2]) (square-40): not a picture that can be decoded"))

    let json = try tool.run(["fetch", "s"] + urls + ["--style", "square-40", "--json"])
    #expect(json.status == 1)
    #expect(texts("source", json.objects) == ["styled", nil, nil, "styled"])
    #expect(json.objects.map { $0["error"] != nil } == [false, true, true, false])
    #expect(json.objects[1]["requests"] is NSNull && json.objects[1]["milliseconds"] is Double)
  }

  @Test func aHostilePictureIsAnErrorAndIsNotKept() throws {
    let jpeg = try Photo.jpeg(400, 300)
    // A header that claims 2^30 pixels each way.
    var vast = try ImageEncoder.encode(Photo.bitmap(2, 2), as: .png)
    vast.replaceSubrange(16..<24, with: [0x40, 0, 0, 0, 0x40, 0, 0, 0])
    let files = ["/cut": Array(jpeg.prefix(jpeg.count / 2)), "/vast": vast, "/empty": []]
    let server = try Photo.serve(files)
    let outcome = try tool.run(["fetch", "s"] + files.keys.map { server.url($0) } + ["--style", "square-40"])
    #expect(outcome.status == 1 && outcome.output.isEmpty)
    #expect(outcome.diagnostics.split(separator: "\n").count == 3)
    #expect(outcome.diagnostics.contains("the JPEG ends before the picture is complete"))
    #expect(try tool.run("ls", "s", "--json").lines.isEmpty)
    #expect(try tool.run("verify", "s").status == 0)
  }

  @Test func thePictureIsWrittenInTheFormatOfTheFilesName() throws {
    let jpeg = try Photo.jpeg()
    let server = try Photo.serve(["/a.jpg": jpeg])
    let url = server.url("/a.jpg")
    for (name, format) in [("o.png", ImageFormat.png), ("o.JPG", .jpeg), ("o.webp", .webp)] {
      #expect(try tool.run("fetch", "s", url, "--style", "square-40", "--output", name).status == 0)
      let image = try Photo.decoded(tool.read(name))
      #expect(image.size == PixelSize(width: 40, height: 40) && image.info.format == format)
    }
    // An original of the same format is copied without loss.
    #expect(try tool.run("fetch", "s", url, "--output", "o.jpeg").status == 0)
    #expect(tool.read("o.jpeg") == Data(jpeg))
    #expect(try tool.run("fetch", "s", url, "--output", "whole.png").status == 0)
    #expect(try Photo.decoded(tool.read("whole.png")).size == PixelSize(width: 200, height: 150))
    // JPEG has no transparent corners.
    let round = try tool.run("fetch", "s", url, "--style", "rounded-40x40-r20", "--output", "round.jpg")
    #expect(round.status == 1 && round.diagnostics.contains("round.jpg: cannot encode the picture as JPEG"))
    #expect(tool.read("round.jpg") == nil)
  }

  /// A process of the tool draws it, at the size of the style.
  @Test func anSVGIsDrawnAndItsFileIsKept() throws {
    let file = Array(
      "<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 8 4'><rect width='8' height='4' fill='#b3261e'/></svg>".utf8
    )
    let server = try Photo.serve(["/a.svg": file])
    let url = server.url("/a.svg")
    let outcome = try tool.run("fetch", "s", url, "--style", "square-40-fit", "--output", "o.png")
    #expect(outcome.status == 0, "\(outcome.diagnostics)")
    let image = try Photo.decoded(tool.read("o.png"))
    #expect(image.size == PixelSize(width: 40, height: 20) && image.color(20, 10) == [0xB3, 0x26, 0x1E])
    #expect(try Array(tool.run("get", "s", url).output) == file)
    #expect(try tool.run("sheet", "s", "--json").json?["shown"] as? Int == 2)
  }

  @Test(arguments: [
    ["u", "--style", "sqare-40"], ["u", "--style", "square-040"], ["u", "--style", "square-0"],
    ["u", "--style", "rounded-40x40-r10:RGB565"], ["u", "--style="], ["u", "--style", "free-badge.v1"],
    ["u", "--style", "square-4", "--style", "square-4"], ["u", "v", "--output", "o.png"],
    ["u", "--style", "square-4", "--style", "square-5", "--output", "o.png"], ["u", "--output", "o.gif"],
    ["u", "--output", "png"], ["u", "v", "--key", "k"], ["u", "--cache", "never"], ["u", "--keep", "all"],
    ["u", "--header", "Token"], ["u", "--header", "a b: c"], ["u", "--header", "A: 1", "--header", "a: 2"],
    ["u", "--header", "A: b\r\nC: d"], ["u", "--timeout", "0"], ["u", "--wait", "1.5"], ["u", "--wait", "86401"],
    ["u", "--max-pixels", "0"], ["u", "--max-pixels", "1000000001"], ["u", "--silence", "-1"], ["-", "u"], ["-"], [],
    ["u", "--budget", "5M"],
  ])
  func aWordThatMakesNoSenseIsAUsageErrorAndMakesNoStore(_ words: [String]) throws {
    let outcome = try tool.run(["fetch", "s"] + words)
    #expect(outcome.status == 2)
    #expect(outcome.diagnostics.hasPrefix("cachectl fetch: "))
    #expect(outcome.diagnostics.contains("Try 'cachectl help fetch'."))
    #expect(tool.read("s/STORE") == nil)
  }

  @Test func aWrongStyleIsExplained() throws {
    #expect(try tool.run("fetch", "s", "u", "--style", "square-040").diagnostics.contains("it is spelled square-40"))
    #expect(
      try tool.run("fetch", "s", "u", "--style", "rounded-9x9-r4:Gray8").diagnostics
        .contains("rounded corners need alpha"))
    #expect(
      try tool.run("fetch", "s", "u", "--style", "free-badge.v1").diagnostics
        .contains("'free-badge.v1' can only be drawn by the program that it belongs to"))
  }

  @Test func policyDecidesWhichRequestsAreMade() throws {
    let server = try Photo.serve(["/a.jpg": Photo.jpeg()])
    let words = ["fetch", "s", server.url("/a.jpg"), "--style", "square-40", "--json", "--cache"]
    let nothing = try tool.run(words + ["only"])
    #expect(nothing.status == 1 && nothing.diagnostics.contains("not stored, and the request forbids the network"))
    #expect(server.requests.isEmpty)
    #expect(try tool.run(words + ["use"]).status == 0)
    #expect(texts("source", try tool.run(words + ["only"]).objects) == ["styled"])
    #expect(server.requests.count == 1)
    #expect(texts("source", try tool.run(words + ["reload"]).objects) == ["network"])
    #expect(server.requests.count == 2)
    #expect(try tool.run(words + ["revalidate"]).status == 0)
    #expect(server.requests.count == 3)
    #expect(server.requests[2].headers["if-modified-since"] == "Sun, 06 Nov 1994 08:49:37 GMT")
  }

  @Test func oneKeyServesManyURLs() throws {
    let server = try Photo.serve(["/a?sign=1": Photo.jpeg(), "/a?sign=2": Photo.jpeg()])
    for (number, source) in [(1, "network"), (2, "styled")] {
      let outcome = try tool.run(
        "fetch", "s", server.url("/a?sign=\(number)"), "--key", "offer-7", "--style", "square-40", "--json")
      #expect(texts("source", outcome.objects) == [source] && texts("key", outcome.objects) == ["offer-7"])
    }
    #expect(server.requests.count == 1)
    #expect(try tool.run("get", "s", "offer-7", "--style", "square-40").status == 0)
  }

  @Test func headersAreSentAndURLsMayComeFromStdin() throws {
    let server = try Photo.serve(["/a.jpg": Photo.jpeg(), "/b.jpg": Photo.jpeg()])
    let list = "\(server.url("/a.jpg"))\r\n\n\(server.url("/b.jpg"))\n"
    let outcome = try tool.run(
      "fetch", "s", "-", "--header", "Token: 7:8", "--header=X-Empty:", "--json", input: Data(list.utf8))
    #expect(outcome.status == 0 && texts("url", outcome.objects) == ["/a.jpg", "/b.jpg"].map { server.url($0) })
    #expect(server.requests.allSatisfy { $0.headers["token"] == "7:8" })
  }

  @Test func repeatedURLComesFromMemory() throws {
    let server = try Photo.serve(["/a.jpg": Photo.jpeg()])
    let url = server.url("/a.jpg")
    let outcome = try tool.run("fetch", "s", url, url, "--style", "square-40", "--json")
    #expect(texts("source", outcome.objects) == ["network", "memory"])
    #expect(sum("requests", outcome.objects) == 1 && server.requests.count == 1)
  }

  @Test func manyURLsAreReportedInTheirOrder() throws {
    let paths = (0..<40).map { "/\($0).jpg" }
    var files: [String: [UInt8]] = [:]
    for (number, path) in paths.enumerated() where number % 7 != 3 { files[path] = try Photo.jpeg(40, 30, number) }
    let server = try Photo.serve(files)
    let outcome = try tool.run(["fetch", "s"] + paths.map { server.url($0) } + ["--style", "square-10", "--json"])
    #expect(outcome.status == 1 && texts("url", outcome.objects) == paths.map { server.url($0) })
    #expect(
      outcome.objects.enumerated().allSatisfy { ($0.element["error"] != nil) == ($0.offset % 7 == 3) })
    #expect(try tool.run("fetch", "s", "not a url").diagnostics.contains("is not a URL that can be loaded"))
  }

  @Test func anInterruptedFetchEndsEarlyAndLeavesTheStoreInOrder() throws {
    let server = try Photo.serve(["/a.jpg": Photo.jpeg()], delay: 120_000)
    let fetch = try tool.start("fetch", "s", server.url("/a.jpg"), "--json")
    wait { !server.requests.isEmpty }
    fetch.interrupt()
    let outcome = fetch.outcome()
    #expect(outcome.status == 3)
    #expect(texts("error", outcome.objects) == ["interrupted"])
    #expect(try tool.run("stat", "s", "--json").json?["entries"] as? Int == 0)
    let opened = try tool.run("stat", "s", "--json").json?["last_open_for_writing"] as? [String: Any]
    #expect(opened?["kind"] as? String == "created")
    #expect(try tool.run("verify", "s").status == 0)
  }
}
