#if os(Linux)
  import Foundation

  @testable import VitrineImages

  /// A server with TLS: the `openssl` program, with a certificate of an authority made for this run.
  final class TLSServer: Sendable {
    static let program = ["/usr/bin/openssl", "/usr/local/bin/openssl"].first {
      FileManager.default.isExecutableFile(atPath: $0)
    }
    static var isThere: Bool { program != nil }

    let port: Int
    let folder: URL
    private let process: Process

    /// The certificate of the authority.
    var authorityFile: String { folder.appendingPathComponent("ca.pem").path }
    /// The SHA-256 digest of the server's public key, in base64.
    let keyDigest: String

    /// Serves `body` at `/body`. The certificate has `names`.
    init(body: String, names: String = "DNS:localhost,IP:127.0.0.1") throws {
      folder = FileManager.default.temporaryDirectory.appendingPathComponent("tls-\(UUID().uuidString)")
      try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
      try Self.write("HTTP/1.0 200 OK\r\nContent-Length: \(body.utf8.count)\r\n\r\n\(body)", folder, "body")
      try Self.write("subjectAltName=\(names)", folder, "extensions")
      let key = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"]
      try Self.run(
        folder, ["req", "-x509"] + key + ["-keyout", "ca.key", "-out", "ca.pem", "-days", "2", "-subj", "/CN=Test CA"])
      try Self.run(folder, ["req"] + key + ["-keyout", "key.pem", "-out", "request.pem", "-subj", "/CN=localhost"])
      try Self.run(
        folder,
        [
          "x509", "-req", "-in", "request.pem", "-CA", "ca.pem", "-CAkey", "ca.key", "-CAcreateserial", "-days", "2",
          "-out",
          "certificate.pem", "-extfile", "extensions",
        ])
      let publicKey = try Self.run(folder, ["x509", "-in", "certificate.pem", "-pubkey", "-noout"])
      try Self.write(publicKey, folder, "public.pem")
      try Self.run(folder, ["pkey", "-pubin", "-in", "public.pem", "-outform", "der", "-out", "public.der"])
      try Self.run(folder, ["dgst", "-sha256", "-binary", "-out", "digest", "public.der"])
      keyDigest = try Data(contentsOf: folder.appendingPathComponent("digest")).base64EncodedString()

      let output = Pipe()
      process = Self.process(
        folder, ["s_server", "-accept", "127.0.0.1:0", "-cert", "certificate.pem", "-key", "key.pem", "-HTTP"], output)
      try process.run()
      var text = ""
      while !text.contains("ACCEPT 127.0.0.1:"), case let more = output.fileHandleForReading.availableData,
        !more.isEmpty
      {
        text += String(decoding: more, as: UTF8.self)
      }
      // The rest is read so that the program never waits for a reader.
      output.fileHandleForReading.readabilityHandler = { if $0.availableData.isEmpty { $0.readabilityHandler = nil } }
      guard let line = text.split(separator: "\n").last(where: { $0.hasPrefix("ACCEPT ") }),
        let number = line.split(separator: ":").last.flatMap({ Int($0) })
      else { throw CocoaError(.fileReadUnknown) }
      port = number
    }

    deinit {
      process.terminate()
      try? FileManager.default.removeItem(at: folder)
    }

    func url(_ path: String, host: String = "localhost") -> String { "https://\(host):\(port)\(path)" }

    private static func write(_ text: String, _ folder: URL, _ name: String) throws {
      try Data(text.utf8).write(to: folder.appendingPathComponent(name))
    }

    private static func process(_ folder: URL, _ arguments: [String], _ output: Pipe) -> Process {
      let process = Process()
      process.executableURL = URL(fileURLWithPath: program ?? "openssl")
      process.arguments = arguments
      process.currentDirectoryURL = folder
      process.standardOutput = output
      process.standardError = FileHandle.nullDevice
      return process
    }

    @discardableResult
    private static func run(_ folder: URL, _ arguments: [String]) throws -> String {
      let output = Pipe()
      let process = process(folder, arguments, output)
      try process.run()
      let text = output.fileHandleForReading.readDataToEndOfFile()
      process.waitUntilExit()
      guard process.terminationStatus == 0 else { throw CocoaError(.fileReadUnknown) }
      return String(decoding: text, as: UTF8.self)
    }
  }
#endif
