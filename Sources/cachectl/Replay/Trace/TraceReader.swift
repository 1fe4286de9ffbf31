import CacheCtlKit

/// A trace in a file, which can be read any number of times.
struct Trace {
  let path: [UInt8]
  /// The format of the trace; nil to detect it.
  let format: TraceFormat?

  var name: String { printable(path) }

  func reader() throws -> TraceReader { try TraceReader(self) }

  /// Calls `body` for each request in order, with the reader of the trace. Throws if there is no request, and if an
  /// interruption is wanted.
  func readAll(_ body: (TraceRequest, TraceReader) throws -> Void) throws {
    let reader = try reader()
    while let request = try reader.next() {
      if reader.requestCount & 255 == 0, Interruption.isWanted { throw Failure("interrupted") }
      try body(request, reader)
    }
    if reader.requestCount == 0 { throw Failure("\(name): the trace has no request") }
  }
}

/// Reads the requests of a trace in order, in bounded memory.
final class TraceReader {
  private let name: String
  private let file: TraceFile
  private let input: TraceInput
  private var parser: any TraceParser
  private(set) var requestCount = 0

  init(_ trace: Trace) throws {
    name = trace.name
    file = try TraceFile(trace.path)
    input = TraceInput(try file.unpacked())
    do {
      let format = try trace.format ?? TraceFormat(beginning: input.beginning(4096))
      parser = format == .text ? TextTrace() : OracleTrace()
    } catch let damage as TraceDamage {
      throw Failure("\(name): \(damage.reason)")
    }
  }

  /// The number of bytes read from the file, and its size on the disk.
  var position: Int { file.position }
  var byteCount: Int { file.byteCount }

  /// The place of the last request, for messages.
  var place: String { "\(name), \(type(of: parser).unit) \(parser.number)" }

  /// Returns nil at the end. Throws a `Failure` that names the line or the record.
  func next() throws -> TraceRequest? {
    do {
      guard let request = try parser.next(input) else { return nil }
      if request.byteCount == 0 { throw TraceDamage(reason: "a size of 0") }
      if request.byteCount > PutCommand.largestValue {
        throw TraceDamage(reason: "a size of \(request.byteCount) bytes: a value has at most 1 GiB")
      }
      requestCount += 1
      return request
    } catch let damage as TraceDamage {
      throw Failure("\(place): \(damage.reason)")
    }
  }
}
