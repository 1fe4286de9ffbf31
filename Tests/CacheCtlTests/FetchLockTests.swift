import Foundation
import LocalServer
import Testing
import Vitrine
import VitrineImages

/// `cachectl fetch` beside other processes that use the same store.
@Suite struct FetchLockTests {
  private let tool: Tool
  private let isOpen = Locked(false)

  init() throws { tool = try Tool() }

  private var path: String { tool.folder.path + "/s" }

  /// Answers requests of `/slow` only after ``isOpen`` is set.
  private func server() throws -> TestServer {
    let (jpeg, isOpen) = (try Photo.jpeg(), isOpen)
    return try TestServer { request in
      if request.path.hasPrefix("/slow") { wait { isOpen.withLock { $0 } } }
      return .init(body: jpeg)
    }
  }

  private func open() { isOpen.withLock { $0 = true } }

  private func urls() throws -> Set<String> {
    Set(try tool.run("ls", "s", "--json").lines.compactMap { $0["url"] as? String })
  }

  @Test func loadingDoesNotHoldTheLock() throws {
    let server = try server()
    #expect(try tool.run("fetch", "s", server.url("/kept")).status == 0)
    let slow = try tool.start("fetch", "s", server.url("/slow"), "--json")
    wait { server.paths.contains("/slow") }
    #expect(try tool.run("put", "s", "u", "--wait", "0", input: Data("value".utf8)).status == 0)
    #expect(try tool.run("stat", "s").status == 0)
    #expect(try tool.run("fetch", "s", server.url("/other"), "--wait", "0").status == 0)
    #expect(try tool.run("fetch", "s", server.url("/kept"), "--cache", "only", "--wait", "0").status == 0)
    open()
    let outcome = slow.outcome()
    #expect(outcome.status == 0 && outcome.objects.map { $0["kept"] as? Bool } == [true])
    #expect(try urls() == Set(["/kept", "/slow", "/other"].map { server.url($0) } + ["u"]))
    #expect(try tool.run("verify", "s").status == 0)
  }

  @Test func storingWaitsForAnotherWriter() throws {
    let server = try server()
    let store = try CacheStore.open(at: path)
    let fetch = try tool.start("fetch", "s", server.url("/a"), "--wait", "600", "--json")
    wait { !server.requests.isEmpty }
    try store.put([1], for: "mine")
    try store.close()
    let outcome = fetch.outcome()
    #expect(outcome.status == 0 && outcome.objects.map { $0["kept"] as? Bool } == [true])
    #expect(try urls() == [server.url("/a"), "mine"])
  }

  @Test func fetchWithoutTheLockEndsWithTheWritersProcess() throws {
    let server = try server()
    let store = try CacheStore.open(at: path)
    let fetch = try tool.run("fetch", "s", server.url("/a"), "--wait", "0", "--json")
    #expect(fetch.status == 3 && fetch.diagnostics.contains("open for writing in process \(getpid())"))
    #expect(fetch.objects.map { $0["kept"] as? Bool } == [false])
    let budget = try tool.run("fetch", "s", server.url("/a"), "--wait", "0", "--budget", "2MB")
    #expect(budget.status == 3 && budget.output.isEmpty)
    try store.close()
    #expect(try tool.run("fetch", "s", server.url("/a"), "--wait", "0").status == 0)
  }

  @Test func keptPictureIsShownBesideAWriter() throws {
    let server = try server()
    #expect(try tool.run("fetch", "s", server.url("/a"), "--style", "square-20", "--keep", "both").status == 0)
    let store = try CacheStore.open(at: path)
    let kept = try tool.run("fetch", "s", server.url("/a"), "--style", "square-20", "--json")
    #expect(kept.status == 0 && kept.objects.map { $0["source"] as? String } == ["styled"])
    // Another style is drawn, and not stored.
    let drawn = try tool.run(
      "fetch", "s", server.url("/a"), "--style", "square-30", "--cache", "only", "--json")
    #expect(drawn.status == 0 && drawn.diagnostics.isEmpty)
    #expect(drawn.objects.map { $0["source"] as? String } == ["original"])
    #expect(drawn.objects.map { $0["kept"] as? Bool } == [false])
    try store.close()
    #expect(server.requests.count == 1)
  }

  @Test func fetchesBesideEachOtherKeepAllPictures() throws {
    let server = try server()
    let fetches = try (0..<4).map { part in
      let urls = (0..<5).map { server.url("/\(part)-\($0)") }
      return try tool.start("fetch", "s", urls[0], urls[1], urls[2], urls[3], urls[4], "--wait", "600", "--json")
    }
    let puts = try (0..<4).map { try tool.start("put", "s", "u\($0)", "/dev/null", "--wait", "600") }
    for put in puts { #expect(put.outcome().status == 0) }
    for fetch in fetches {
      let outcome = fetch.outcome()
      #expect(outcome.status == 0 && outcome.objects.count == 5)
      #expect(outcome.objects.allSatisfy { $0["kept"] as? Bool == true })
    }
    #expect(try urls().count == 24)
    #expect(try tool.run("verify", "s").status == 0)
  }

  @Test func writingCommandsWaitForTheLock() throws {
    try tool.write(Data("x".utf8), to: "in/a")
    #expect(try tool.run("put", "s", "u", "in/a").status == 0)
    let store = try CacheStore.open(at: path)
    let commands = [
      ["put", "s", "v", "in/a"], ["import", "s", "in"], ["pin", "s", "u"], ["trim", "s", "--to", "1MB"],
      ["compact", "s"], ["rm", "s", "u"],
    ]
    for command in commands {
      let refused = try tool.run(command + ["--wait", "0"])
      #expect(refused.status == 3 && refused.diagnostics.contains("process \(getpid())"), "\(command)")
    }
    #expect(try tool.run("repair", "s", "--wait", "0").status == 3)
    let put = try tool.start("put", "s", "w", "in/a", "--wait", "600")
    try store.close()
    #expect(put.outcome().status == 0)
    for command in commands { #expect(try tool.run(command).status == 0, "\(command)") }
  }

  @Test func removedStoreIsNamedAndNotMadeAgain() throws {
    let (jpeg, path) = (try Photo.jpeg(), path)
    let server = try TestServer { _ in
      try? FileManager.default.removeItem(atPath: path)
      return .init(body: jpeg)
    }
    let outcome = try tool.run("fetch", "s", server.url("/a"), "--json")
    #expect(outcome.status == 1 && outcome.objects.map { $0["kept"] as? Bool } == [false])
    #expect(outcome.diagnostics.contains("not kept: 1 of these pictures: there is no store at s"))
    #expect(!FileManager.default.fileExists(atPath: path))
  }

  /// The store keeps more bytes of the disk free than there are, so it has no room.
  @Test func fullDiskIsNamed() throws {
    let server = try server()
    let words = ["fetch", "s", server.url("/a"), server.url("/b"), "--json"]
    let outcome = try tool.run(words + ["--keep-free", "1000000GB"])
    #expect(outcome.status == 1 && outcome.objects.map { $0["kept"] as? Bool } == [false, false])
    #expect(outcome.diagnostics.contains("not kept: 2 of these pictures: no space left"))
    #expect(try tool.run(words + ["--keep-free", "0"]).status == 0)
  }

  @Test func stalePictureIsRenewedBeforeTheCommandEnds() throws {
    let pictures = try [Photo.jpeg(40, 30, 1), Photo.jpeg(40, 30, 2)]
    let count = Locked(0)
    let server = try TestServer { _ in
      let number = count.withLock { count in
        count += 1
        return count
      }
      return .init(
        headers: ["Cache-Control": "max-age=0, stale-while-revalidate=600"], body: pictures[min(number, 2) - 1])
    }
    #expect(try tool.run("fetch", "s", server.url("/a")).status == 0)
    // The wait for an answer is bounded, and a loaded machine may need another attempt.
    for _ in 0..<20 {
      if try tool.run("get", "s", server.url("/a")).output == Data(pictures[1]) { break }
      let stale = try tool.run("fetch", "s", server.url("/a"), "--json")
      #expect(stale.status == 0 && stale.objects.map { $0["source"] as? String } == ["original"])
    }
    #expect(try tool.run("get", "s", server.url("/a")).output == Data(pictures[1]))
  }

  @Test func stalePictureIsShownWhileItsServerFails() throws {
    let (jpeg, count) = (try Photo.jpeg(), Locked(0))
    let server = try TestServer { _ in
      let number = count.withLock { count in
        count += 1
        return count
      }
      return number == 2 ? .status(500) : .init(headers: ["Cache-Control": "max-age=0"], body: jpeg)
    }
    #expect(try tool.run("fetch", "s", server.url("/a")).status == 0)
    let stale = try tool.run("fetch", "s", server.url("/a"), "--json", "--silence", "86400000")
    #expect(stale.status == 0 && stale.objects.map { $0["source"] as? String } == ["original"])
    #expect(server.requests.count >= 2)
  }

  @Test func usesOfKeptPicturesCountForEviction() throws {
    let server = try server()
    let words = ["--keep", "original"]
    for name in ["/a", "/b", "/c"] {
      let options = ["--policy", "lru", "--entries", "3"]
      #expect(try tool.run(["fetch", "s", server.url(name)] + words + options).status == 0)
    }
    #expect(try tool.run(["fetch", "s", server.url("/a")] + words).status == 0)
    #expect(try tool.run(["fetch", "s", server.url("/d")] + words).status == 0)
    #expect(try urls() == Set(["/a", "/c", "/d"].map { server.url($0) }))
  }

  @Test func pictureWithTooManyPixelsIsRefused() throws {
    let server = try server()
    let words = ["fetch", "s", server.url("/a"), "--max-pixels"]
    let refused = try tool.run(words + ["29999"])
    #expect(refused.status == 1 && refused.diagnostics.contains("200 by 150 pixels exceeds 29999 pixels"))
    #expect(try tool.run(words + ["30000"]).status == 0)
    #expect(try tool.run("sheet", "s", "--max-pixels", "29999", "--json").json?["not_decoded"] as? Int == 1)
    #expect(try tool.run("sheet", "s", "--json").json?["not_decoded"] as? Int == 0)
  }
}
