import CacheCtlBase
import CacheCtlKit
import Vitrine
import VitrineImages

package enum FetchCommand: Command {
  private static let style = Option(
    "style", value: "S", isRepeatable: true,
    "the style to draw: square-100, rectangle-320x240, rounded-60x60-r30@2x, ...; 'original' by default"
  )
  private static let output = Option(
    "output", value: "FILE", "write the picture to FILE, in the format of its name: .png, .jpg or .webp")
  private static let key = Option("key", value: "K", "the key that the picture is stored under, instead of its URL")
  private static let header = Option(
    "header", value: "NAME:VALUE", isRepeatable: true, "a header to send with each request")
  private static let keep = Option(
    "keep", value: Keeping.byName.map(\.name).joined(separator: "|"),
    "the pictures to store; automatic: both, without originals that are large compared with their styled pictures")
  private static let timeout = Option("timeout", value: "SECONDS", "time limit without a received byte (30)")
  private static let silence = Option(
    "silence", value: "MILLISECONDS",
    "show a stale stored picture if its server has been silent for this long (1000)")
  private static let maximumAge = Option(
    "max-age", value: "DURATION",
    "ask the server about pictures that are older than this: 90s, 30min, 12h, 7d (no limit)")

  package static let specification = CommandSpecification(
    name: "fetch", summary: "load pictures, in styles, through the store",
    positionals: [.required("STORE"), .several("URL")],
    options: [
      style, output, key, .cache, header, keep, timeout, silence, maximumAge, .mostPixels, .budget, .entries, .keepFree,
      .styleBudget, .policy, .wait, .reads, .json,
    ],
    notes: [
      "A picture in the requested style comes from the store. If it is missing, it is drawn from the original in the "
        + "store, or else from a download, and stored. One line for each URL and style shows the source (styled, "
        + "original, network; memory for a repeated URL) and the number of requests, bytes and decodes. Styles of "
        + "one URL share its download. A URL of '-' reads URLs from stdin, one a line. A missing store is made. "
        + "Budgets and policy are kept in the store, as with put.",
      "Styles: original, square-A, rectangle-AxB, rounded-AxB-rR, rounded-AxB-rR-bW (a border), with -fit to show "
        + "the whole picture, then @2x or any scale, then a pixel format such as :RGB565. Lengths are points: "
        + "pixels at @1x. free-NAME.vN styles can only be drawn by the program that they belong to.",
      "If a picture fails, stderr names it, the other pictures are still loaded, and the exit status is 1. --key "
        + "needs a single URL, and --output a single URL and style. If FILE has the format of the original, the "
        + "original is copied unchanged. SIGINT (Ctrl-C) ends the command early with status 3. Pictures loaded "
        + "before stay in the store.",
      "The store is open for writing only while pictures are stored, so other commands can write in between. If "
        + "another process writes for longer than --wait, fetch ends with status 3. --cache only does not wait: a "
        + "style that it draws while another process writes is not stored.",
      "The age of --max-age counts from the download, or from the last answer of the server that the picture is "
        + "still valid. The limit is not kept in the store. A shorter lifetime given by the server applies too.",
      "A stale picture that its server allows to show is shown at once. Its server is asked in the background. fetch "
        + "waits for the answers at the end, for at most 10 seconds.",
      "If pictures cannot be stored, for example on a full disk or because the store was removed, stderr says how "
        + "many and why, and the exit status is 1.",
      "If the budget holds less than the pictures, the store evicts some of them again or refuses them. Then a line "
        + "says how many were not kept in any form, and the exit status is 4, or 1 if pictures failed too.",
      "With --json, an array of objects: url, style, key (if not the URL), source, width, height, requests, "
        + "bytes_received, decodes, milliseconds, kept. A failed picture has error in place of width, height and kept, "
        + "and null for source, requests, bytes_received and decodes. "
        + "kept is false if the picture was to be stored and is not in the store.",
    ],
    examples: [
      .init("cachectl fetch photos.cache https://example.org/a.jpg", "load a picture and keep it"),
      .init(
        "cachectl fetch photos.cache $U --style square-100 --output a.png", "as a thumbnail, to look at"),
      .init(
        "cachectl fetch photos.cache - --style square-100 --json < urls", "a list of URLs, for a program"),
    ])

  package static var isCutShortByClosedOutput: Bool { true }

  package static func run(_ arguments: Arguments, _ output: Output) throws -> ExitStatus {
    let file = try PictureFile(self.output, arguments)
    let requests = try requests(arguments)
    if file != nil, requests.count != 1 { throw arguments.fail("--output needs one URL and one style") }
    var configuration = try configuration(arguments)
    // Pictures in memory retain their segments in the store beyond its budget, so memory serves only repeated
    // requests.
    if Set(requests).count == requests.count { configuration.memory = MemoryLimits(cost: 0) }
    let storeOptions = try arguments.storeOptions()
    let stores = try FetchStores(arguments)
    let isOffline = requests.allSatisfy { $0.cachePolicy == .cacheOnly }

    Interruption.listen()
    let reader = try stores.reader(
      saving: storeOptions, [.budget, .entries, .keepFree, .styleBudget, .policy].contains(where: arguments.has))
    let storage = FetchStorage(reader, stores.writer(waits: !isOffline))
    configuration.storage = storage
    var report = FetchReport(requests)
    var picture: PictureResponse?
    let progress = Progress("fetch")
    let work = FetchWork(requests, PicturePipeline(configuration))
    let isDone = Result {
      try work.run { index, fetched in
        if file != nil { picture = try? fetched.result.get() }
        for (text, isFailure) in report.add(fetched, at: index) {
          if isFailure || !arguments.has(.json) { progress.clear() }
          if isFailure {
            Diagnostics.write("cachectl fetch: \(text)\n")
          } else if !arguments.has(.json) {
            try output.writeNow(text + "\n")
          }
        }
      } wait: { left in
        progress.show(requests.count - left, of: requests.count)
        return !Interruption.isWanted && (isOffline || storage.writer.lockError == nil)
      }
    }
    progress.clear()
    FetchWork.wait { await storage.writer.end() }
    storage.finish()
    stores.countUses(of: storage.usedKeys)
    try isDone.get()
    report.noteKept(storage.isKept)
    let status = try conclude(report, storage, reader, isOffline, arguments.has(.json), output)
    if let file, let picture { try write(picture, requests[0], to: file, from: reader) }
    if Interruption.isWanted { throw Failure("interrupted") }
    if !isOffline, let error = storage.writer.lockError { throw error }
    if let error = storage.writer.closingError, error != .storeRemoved { throw error }
    try reader.close()
    return status
  }

  /// Writes the report, and returns the exit status.
  private static func conclude(
    _ report: FetchReport, _ storage: FetchStorage, _ store: CacheStore, _ isOffline: Bool, _ wantsJSON: Bool,
    _ output: Output
  ) throws -> ExitStatus {
    if wantsJSON { try output.write(report.json) }
    let hasFailed = report.failureCount > 0
    if report.notKeptCount == 0 { return hasFailed ? .problemFound : .done }
    if let error = storage.error {
      // Without the network, a stored original was drawn again, and can be drawn again the next time.
      if isOffline, storage.writer.lockError != nil { return hasFailed ? .problemFound : .done }
      Diagnostics.write("cachectl fetch: not kept: \(report.notKeptCount) of these pictures: \(error)\n")
      return .problemFound
    }
    if !wantsJSON {
      try output.write(
        "not kept: \(report.notKeptCount) of these pictures; the budget is \(Quantity.bytes(store.byteBudget)) "
          + "(--budget, --entries)\n")
    }
    return hasFailed ? .problemFound : .notKept
  }

  private static func configuration(_ arguments: Arguments) throws -> PicturePipeline.Configuration {
    var configuration = PicturePipeline.Configuration(
      loader: HTTPLoader(timeoutSeconds: Double(try seconds(arguments))),
      decoder: ImageDecoder.ofThisTool(limits: try arguments.decodingLimits()))
    configuration.keeps = try arguments.choice(keep, of: Keeping.byName) ?? .automatic
    let milliseconds = try arguments.count(silence) ?? 1000
    guard milliseconds <= 86_400_000 else { throw arguments.fail("--silence must be at most 86400000") }
    configuration.silenceMilliseconds = milliseconds
    configuration.maximumAgeMilliseconds = try arguments.seconds(maximumAge).map { Int64($0) * 1000 }
    return configuration
  }

  private static func requests(_ arguments: Arguments) throws -> [PictureRequest] {
    let styles = try arguments.imageStyles(style)
    let headers = try arguments.headers(header)
    let policy = try arguments.choice(.cache, of: PictureRequest.CachePolicy.byName) ?? .use
    let key = try arguments.value(key).map { try arguments.text($0, "--key") }
    let urls = try urls(arguments)
    if key != nil, urls.count != 1 { throw arguments.fail("--key needs one URL") }
    return urls.flatMap { url in
      styles.map { PictureRequest(url, key: key, style: $0, headers: headers, cachePolicy: policy) }
    }
  }

  private static func urls(_ arguments: Arguments) throws -> [String] {
    var words = Array(arguments.positionals.dropFirst())
    let dash = Array("-".utf8)
    if words == [dash] {
      guard let bytes = try Descriptor.standardInput().readAll(limit: 64 << 20) else {
        throw Failure("stdin has more than 64 MiB of URLs")
      }
      words = bytes.split { $0 == UInt8(ascii: "\n") || $0 == UInt8(ascii: "\r") }.map(Array.init)
      if !words.contains(where: { $0.contains { $0 > 0x20 } }) { throw arguments.fail("stdin has no URL") }
    } else if words.contains(dash) {
      throw arguments.fail("'-' stands alone, for URLs from stdin")
    }
    // A list may begin with a byte order mark, and lines may have blanks around their URLs.
    let urls = try words.map { LoadURL.trimmed(try arguments.text($0, "the URL")) }
    return words.count == 1 ? urls : urls.filter { !$0.isEmpty }
  }

  private static func seconds(_ arguments: Arguments) throws -> Int {
    let seconds = try arguments.count(timeout) ?? 30
    guard (1...86_400).contains(seconds) else { throw arguments.fail("--timeout must be 1 to 86400") }
    return seconds
  }

  private static func write(
    _ picture: PictureResponse, _ request: PictureRequest, to file: PictureFile, from store: CacheStore
  ) throws {
    // Encoding a JPEG again would lose quality, so an original in the format of the file is copied.
    if request.style == .original, let original = store.blob(CacheKey(request.key)) {
      let isWritten = try original.withBytes { bytes in
        guard (try? ImageFormat(of: bytes)) == file.format else { return false }
        try file.write(bytes)
        return true
      }
      if isWritten { return }
    }
    try file.write(picture.bitmap)
  }
}
