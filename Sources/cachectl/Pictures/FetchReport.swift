import CacheCtlBase
import CacheCtlKit
import VitrineImages

/// Reports the results of requests: as lines for people, in the order of the requests, or all as JSON.
struct FetchReport {
  private let urlWidth: Int
  private let styleWidth: Int
  private var fetched: [Fetched?]
  private var saidCount = 0
  private(set) var failureCount = 0
  private var isKept: [Bool]
  var notKeptCount: Int { isKept.count { !$0 } }

  init(_ requests: [PictureRequest]) {
    // A longer URL extends beyond its column.
    urlWidth = min(60, requests.map { printable(Array($0.url.utf8)).count }.max() ?? 0)
    styleWidth = requests.map { $0.style.name.count }.max() ?? 0
    fetched = requests.map { _ in nil }
    isKept = requests.map { _ in true }
  }

  /// Notes which of the loaded pictures the storage has kept. A picture that was not to be stored counts as kept.
  mutating func noteKept(_ isKept: (PictureRequest) -> Bool) {
    for (index, fetched) in fetched.enumerated() {
      guard let fetched, case .success = fetched.result, !isKept(fetched.request) else { continue }
      self.isKept[index] = false
    }
  }

  /// Adds a result. Returns the lines that can now be printed, for stdout or, for failures, stderr. An interruption
  /// has no line here, since the command reports it once.
  mutating func add(_ new: Fetched, at index: Int) -> [(text: String, isFailure: Bool)] {
    fetched[index] = new
    if case .failure = new.result { failureCount += 1 }
    var lines: [(String, Bool)] = []
    while saidCount < fetched.count, let next = fetched[saidCount] {
      saidCount += 1
      if case .failure(let error) = next.result, error is CancellationError { continue }
      lines.append(line(next))
    }
    return lines
  }

  private func line(_ fetched: Fetched) -> (String, Bool) {
    let url = printable(Array(fetched.request.url.utf8))
    switch fetched.result {
    case .failure(let error):
      return ("\(url) (\(fetched.request.style)): \(FetchReport.text(error))", true)
    case .success(let response):
      let cells = [
        url.padded(to: urlWidth), fetched.request.style.name.padded(to: styleWidth),
        "\(response.bitmap.size)".padded(to: 9), response.origin.rawValue.padded(to: 8),
        Quantity.count(response.requestCount, "request", "requests").padded(to: 10),
        FetchReport.right(Quantity.bytes(response.receivedByteCount), 8),
        Quantity.count(response.decodeCount, "decode", "decodes").padded(to: 9),
        FetchReport.right(Quantity.nanoseconds(fetched.milliseconds * 1e6), 8),
      ]
      return (cells.joined(separator: "  "), false)
    }
  }

  private static func right(_ text: String, _ width: Int) -> String {
    String(repeating: " ", count: max(0, width - text.count)) + text
  }

  static func text(_ error: any Error) -> String {
    // Descriptions quote URLs and names, which may contain any characters.
    error is CancellationError ? "interrupted" : printable(Array("\(error)".utf8))
  }

  /// All results, in the order of the requests.
  var json: JSON {
    .array(
      zip(fetched, isKept).compactMap { fetched, isKept in
        fetched.map { FetchReport.json($0, isKept: isKept) }
      })
  }

  private static func json(_ fetched: Fetched, isKept: Bool) -> JSON {
    let request = fetched.request
    var members = JSON.members(url: Array(request.url.utf8)) + [("style", .string(request.style.name))]
    if request.key != request.url { members.append(("key", .string(request.key))) }
    let milliseconds = ("milliseconds", JSON.rounded(fetched.milliseconds, places: 3))
    switch fetched.result {
    case .failure(let error):
      let unknown = ["source", "requests", "bytes_received", "decodes"].map { ($0, JSON.null) }
      return .object(members + unknown + [milliseconds, ("error", .string(text(error)))])
    case .success(let response):
      return .object(
        members + [
          ("source", .string(response.origin.rawValue)), ("width", .int(response.bitmap.width)),
          ("height", .int(response.bitmap.height)), ("requests", .int(response.requestCount)),
          ("bytes_received", .int(response.receivedByteCount)), ("decodes", .int(response.decodeCount)),
          milliseconds, ("kept", .bool(isKept)),
        ])
    }
  }
}
