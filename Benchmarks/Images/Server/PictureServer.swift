import Foundation
import VitrineImages

#if canImport(Glibc)
  import Glibc
#endif

/// A plain HTTP server of one folder, with a delay before each answer and a bandwidth that all connections share.
///
/// The only headers are a picture's length and date. Connections stay open, and each has a thread. Each request writes
/// a line to stderr, as with other servers.
final class PictureServer: Sendable {
  private let folder: URL
  private let names: Set<String>
  private let delaySeconds: Double
  private let bandwidth: Bandwidth?

  /// Serves in a separate process. The words are FOLDER PORT DELAY-MILLISECONDS BYTES-PER-SECOND, the last two 0 for
  /// none. Never returns.
  static func serve(_ words: [String]) throws {
    guard words.count == 4, let port = UInt16(words[1]), let delay = Double(words[2]), let rate = Double(words[3])
    else {
      throw BenchError("child-serve FOLDER PORT DELAY RATE")
    }
    let server = try PictureServer(URL(filePath: words[0]), delaySeconds: delay / 1000, bytesPerSecond: rate)
    let listener = try LocalSocket.listening(on: port)
    while true {
      let connection = accept(listener, nil, nil)
      if connection < 0 { throw BenchError("the server accepts nothing any more: \(errno)") }
      Thread.detachNewThread {
        server.serve(connection)
        close(connection)
      }
    }
  }

  private init(_ folder: URL, delaySeconds: Double, bytesPerSecond: Double) throws {
    self.folder = folder
    self.delaySeconds = delaySeconds
    names = Set(try FileManager.default.contentsOfDirectory(atPath: folder.path))
    bandwidth = bytesPerSecond > 0 ? Bandwidth(bytesPerSecond: bytesPerSecond) : nil
  }

  private func serve(_ connection: Int32) {
    LocalSocket.sendAtOnce(connection)
    var unread: [UInt8] = []
    while let path = LocalSocket.readRequest(connection, &unread) {
      let name = String(path.dropFirst()).removingPercentEncoding ?? ""
      let file = folder.appending(path: name)
      let date = try? file.resourceValues(forKeys: [.contentModificationDateKey]).contentModificationDate
      let body = names.contains(name) ? try? Data(contentsOf: file) : nil
      let status = body == nil ? 404 : 200
      FileHandle.standardError.write(Data("\"GET \(path) HTTP/1.1\" \(status)\n".utf8))
      if delaySeconds > 0 { Thread.sleep(forTimeInterval: delaySeconds) }
      var head = "HTTP/1.1 \(status) \(body == nil ? "Not Found" : "OK")\r\nContent-Length: \(body?.count ?? 0)\r\n"
      if let date, body != nil { head += "Last-Modified: \(PictureServer.text(date))\r\n" }
      guard send(Data((head + "\r\n").utf8), connection), send(body ?? Data(), connection) else { return }
    }
  }

  private func send(_ bytes: Data, _ connection: Int32) -> Bool {
    for start in stride(from: 0, to: bytes.count, by: 8192) {
      let piece = bytes[start..<min(start + 8192, bytes.count)]
      bandwidth?.take(piece.count)
      if !LocalSocket.send(piece, connection) { return false }
    }
    return true
  }

  private static func text(_ date: Date) -> String {
    let formatter = DateFormatter()
    formatter.locale = Locale(identifier: "en_US_POSIX")
    formatter.timeZone = TimeZone(identifier: "GMT")
    formatter.dateFormat = "EEE, dd MMM yyyy HH:mm:ss 'GMT'"
    return formatter.string(from: date)
  }
}
