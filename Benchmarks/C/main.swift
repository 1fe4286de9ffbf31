import CVitrine
import Vitrine
import VitrineC

#if canImport(Glibc)
  import Glibc
#else
  import Darwin
#endif

// Times a get of Swift with a closure, `vitrine_borrow`, and `vitrine_get` with the release of its value, in turn, on
// the same store and the same keys.
// usage: bench-c FOLDER [ENTRIES]

/// The sum of the bytes that a call has seen, so that no call can be left out.
final class Seen {
  var sum = 0
}

func nanoseconds() -> UInt64 {
  var time = timespec()
  clock_gettime(CLOCK_MONOTONIC, &time)
  return UInt64(time.tv_sec) * 1_000_000_000 + UInt64(time.tv_nsec)
}

/// The median times of one call, in nanoseconds.
struct Medians {
  var swift: Double
  var c: Double
  /// The median difference of neighboring rounds. Unlike the times, it hardly depends on other processes.
  var difference: Double
  /// `vitrine_get` and the release of its value.
  var value: Double
}

/// Times short rounds of each form in turn, over the same keys in the same order.
func measure(
  _ store: CacheStore, _ handle: OpaquePointer, _ urls: [[UInt8]], _ style: Style, entries: Int
) -> Medians {
  let seen = Seen()
  let context = Unmanaged.passUnretained(seen).toOpaque()
  let styleText = style.name.utf8.map { CChar(bitPattern: $0) }
  let callsPerRound = 256
  var swift: [Double] = []
  var c: [Double] = []
  var values: [Double] = []
  for round in 0..<2_000 {
    let first = round &* callsPerRound
    let order = (first..<first + callsPerRound).map { $0 &* 2_654_435_761 % entries }
    func runSwift() {
      for index in order {
        urls[index].withUnsafeBytes { url in
          _ = store.get(url.bytes, style: style) { bytes in seen.sum &+= bytes.byteCount }
        }
      }
    }
    func runC() {
      for index in order {
        urls[index].withUnsafeBytes { url in
          _ = vitrine_borrow(
            handle, url.baseAddress?.assumingMemoryBound(to: CChar.self), url.count, styleText, styleText.count,
            { context, _, count in
              Unmanaged<Seen>.fromOpaque(context!)._withUnsafeGuaranteedRef { $0.sum &+= count }
            }, context)
        }
      }
    }
    // A round before brings the entries into the caches, for both forms.
    runSwift()
    runC()
    let begin = nanoseconds()
    if round % 2 == 0 { runSwift() } else { runC() }
    let middle = nanoseconds()
    if round % 2 == 0 { runC() } else { runSwift() }
    let end = nanoseconds()
    for index in order {
      urls[index].withUnsafeBytes { url in
        var value: OpaquePointer?
        _ = vitrine_get(
          handle, url.baseAddress?.assumingMemoryBound(to: CChar.self), url.count, styleText, styleText.count, &value,
          nil)
        seen.sum &+= vitrine_value_size(value)
        vitrine_value_release(value)
      }
    }
    values.append(Double(nanoseconds() - end) / Double(callsPerRound))
    let times = (Double(middle - begin) / Double(callsPerRound), Double(end - middle) / Double(callsPerRound))
    swift.append(round % 2 == 0 ? times.0 : times.1)
    c.append(round % 2 == 0 ? times.1 : times.0)
  }
  precondition(seen.sum > 0, "no entry was found")
  func median(_ values: [Double]) -> Double { values.sorted()[values.count / 2] }
  return Medians(
    swift: median(swift), c: median(c), difference: median(zip(swift, c).map { $1 - $0 }),
    value: median(values))
}

func run() throws {
  guard CommandLine.arguments.count > 1 else { fatalError("usage: bench-c FOLDER [ENTRIES]") }
  let folder = CommandLine.arguments[1]
  let count = CommandLine.arguments.count > 2 ? Int(CommandLine.arguments[2]) ?? 10_000 : 10_000
  var handle: OpaquePointer?
  var options = vitrine_options()
  options.size = MemoryLayout<vitrine_options>.size
  options.byte_budget = 1 << 30
  var error = vitrine_error()
  guard vitrine_open(folder, &options, &handle, &error) == VITRINE_OK, let handle else {
    fatalError(withUnsafeBytes(of: error.text) { String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self) })
  }
  let urls = (0..<count).map {
    Array("https://images.example.org/photographs/album/\($0)/picture-in-full-size.jpg".utf8)
  }
  for name in ["original", "square-60@2x"] {
    for url in urls {
      // Random, so that no value is compressed: a borrow of a compressed one measures zstd.
      let bytes = (0..<512).map { _ in UInt8.random(in: 0...255) }
      _ = url.withUnsafeBytes { url in
        vitrine_put(
          handle, url.baseAddress?.assumingMemoryBound(to: CChar.self), url.count, name, name.utf8.count, bytes,
          bytes.count, nil, nil)
      }
    }
    vitrine_flush(handle, nil)
  }
  let store = storeForTests(handle)!
  print("| entries asked for | style | Swift `get` | `vitrine_borrow` | difference | `vitrine_get` |")
  print("|---|---|---|---|---|---|")
  for entries in [64, count] {
    for name in ["original", "square-60@2x"] {
      let medians = measure(store, handle, urls, Style(name)!, entries: entries)
      print(
        "| \(entries) | \(name) | \(rounded(medians.swift)) ns | \(rounded(medians.c)) ns "
          + "| \(rounded(medians.difference)) ns | \(rounded(medians.value)) ns |")
    }
  }
  vitrine_store_release(handle)
}

func rounded(_ value: Double) -> Double { (value * 10).rounded() / 10 }

try run()
