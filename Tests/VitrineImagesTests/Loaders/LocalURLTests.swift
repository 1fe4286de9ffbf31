#if os(Linux)
  import Foundation
  import Testing

  @testable import VitrineImages

  /// `file:` and `data:` URLs.
  @Suite struct LocalURLTests {
    private let loader = CurlLoader()

    private func fetch(
      _ url: String, conditions: [String: String] = [:], most: Int = 1 << 20
    ) async throws -> HTTPFetcher.Fetched {
      try await HTTPFetcher(loader, .init(attemptCount: 1, mostBytes: most))
        .fetch(LoadRequest(url: url), conditions: conditions)
    }

    private func withFile(_ bytes: [UInt8], _ body: (URL) async throws -> Void) async throws {
      let folder = FileManager.default.temporaryDirectory.appendingPathComponent("loader ü \(UUID().uuidString)")
      try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
      defer { try? FileManager.default.removeItem(at: folder) }
      let file = folder.appendingPathComponent("a b.jpg")
      try Data(bytes).write(to: file)
      try await body(file)
    }

    @Test func fileIsLoaded() async throws {
      try await withFile(LoaderTests.body) { file in
        let urls = [
          file.absoluteString, "FILE://" + file.path, "file:" + file.path, "file://localhost" + file.path + "#x",
          " file://\(file.path) ",
        ]
        for url in urls {
          let body = try await fetch(url).body
          #expect(body == LoaderTests.body)
        }
        await #expect(throws: LoadError.tooLarge(limit: 1000)) { try await fetch(file.absoluteString, most: 1000) }
      }
    }

    @Test func changedFileIsLoadedAgain() async throws {
      try await withFile([1]) { file in
        let first = try await fetch(file.absoluteString)
        let tag = try #require(first.headers["ETag"])
        #expect(first.headers["Cache-Control"] == "no-cache")
        #expect(try await fetch(file.absoluteString, conditions: ["If-None-Match": tag]).body == nil)
        try Data([2, 3]).write(to: file)
        #expect(try await fetch(file.absoluteString, conditions: ["If-None-Match": tag]).body == [2, 3])
      }
    }

    @Test func fileURLWithoutARegularFileIsRefused() async throws {
      try await withFile([1]) { file in
        let folder = file.deletingLastPathComponent()
        let pipe = folder.appendingPathComponent("pipe")
        #expect(mkfifo(pipe.path, 0o600) == 0)
        for path in [folder.path, pipe.path, "/dev/zero", folder.path + "/none"] {
          await #expect {
            try await fetch("file://" + path)
          } throws: {
            if case .unreadable? = $0 as? LoadError { true } else { false }
          }
        }
      }
      for url in ["file://elsewhere/etc/passwd", "file:", "file://", "file:a", "file:///%00", "file:///%FF"] {
        await #expect(throws: LoadError.invalidURL(url)) { try await fetch(url) }
      }
      let other = CurlLoader(loadsFiles: false)
      await #expect(throws: LoadError.invalidURL("file:///etc/passwd")) {
        try await other.load(LoadRequest(url: "file:///etc/passwd"), LoaderTests.Receiver())
      }
    }

    @Test func canceledLoadOfAFileEnds() async throws {
      try await withFile([1]) { file in
        let task = Task {
          withUnsafeCurrentTask { $0?.cancel() }
          try await loader.load(LoadRequest(url: file.absoluteString), LoaderTests.Receiver())
        }
        await #expect(throws: CancellationError.self) { try await task.value }
      }
    }

    @Test func dataURLIsDecoded() async throws {
      let expected: [String: [UInt8]] = [
        "data:image/png;base64,AQID": [1, 2, 3], "DATA:;base64,AQI=": [1, 2], "data:;base64,AQI": [1, 2],
        "data:image/png;name=a;base64,A%51 ID\n": [1, 2, 3], "data:,a%20b": [97, 32, 98], "data:,": [],
        "data:;base64,": [],
      ]
      for (url, bytes) in expected { #expect(try await fetch(url).body == bytes, "\(url)") }
      for url in ["data:", "data:image/png;base64", "data:;base64,!!!!", "data:;base64,A"] {
        await #expect(throws: LoadError.invalidURL(url)) { try await fetch(url) }
      }
      await #expect(throws: LoadError.tooLarge(limit: 2)) { try await fetch("data:,abc", most: 2) }
    }
  }
#endif
