import Dispatch
import Vitrine
import VitrineImages

/// Pictures that are requested together, as a page does, and the measurements.
struct PicturePass {
  var pictureCount = 0
  var requestCount = 0
  var receivedByteCount = 0
  var decodeCount = 0
  var seconds = 0.0
  /// URLs that gave no picture, and the reasons.
  var failures: [String: String] = [:]

  /// The argument of the second process: it opens a store, makes one pass, and prints it.
  static let mode = "load"

  /// Requests each URL in each style, all at once. Blocks until all have come.
  static func run(_ urls: [String], _ styles: [ImageStyle], through pipeline: PicturePipeline) -> PicturePass {
    let pass = Locked(PicturePass())
    let end = DispatchSemaphore(value: 0)
    let start = ContinuousClock.now
    Task.detached {
      await withTaskGroup(of: Void.self) { group in
        for url in urls {
          for style in styles {
            group.addTask {
              do {
                let response = try await pipeline.image(for: PictureRequest(url, style: style))
                pass.withLock { $0.add(response) }
              } catch {
                pass.withLock { $0.failures[url] = "\(error)" }
              }
            }
          }
        }
      }
      end.signal()
    }
    end.wait()
    let (seconds, attoseconds) = (ContinuousClock.now - start).components
    return pass.withLock {
      $0.seconds = Double(seconds) + Double(attoseconds) / 1e18
      return $0
    }
  }

  private mutating func add(_ response: PictureResponse) {
    pictureCount += 1
    requestCount += response.requestCount
    receivedByteCount += response.receivedByteCount
    decodeCount += response.decodeCount
  }

  // MARK: In a separate process

  /// Runs a pass in a new process, over the store that this one has closed.
  static func runApart(_ urls: [String], _ styles: [ImageStyle], store: String) throws -> PicturePass {
    let names = styles.map(\.name).joined(separator: ",")
    let (output, status) = try ChildProcess.run(ChildProcess.ownProgram, [mode, store, names] + urls)
    let words = output.split { $0 == " " || $0 == "\n" }
    guard status == 0, words.count == 5, let seconds = Double(words[4]) else {
      throw DemoError("the process that loads pictures ended with status \(status): \(output)")
    }
    let numbers = words.prefix(4).compactMap { Int($0) }
    guard numbers.count == 4 else { throw DemoError("the process that loads pictures said: \(output)") }
    return PicturePass(
      pictureCount: numbers[0], requestCount: numbers[1], receivedByteCount: numbers[2], decodeCount: numbers[3],
      seconds: seconds)
  }

  /// The second process.
  static func main(_ arguments: [String]) throws {
    guard arguments.count >= 2 else { throw DemoError("which store and styles?") }
    let styles = try arguments[1].split(separator: ",").map { try ImageStyle(name: String($0)) }
    let store = try CacheStore.open(at: arguments[0])
    let pipeline = PicturePipeline(.init(storage: StoreStorage(store)))
    let pass = run(Array(arguments.dropFirst(2)), styles, through: pipeline)
    try store.close()
    print(pass.pictureCount, pass.requestCount, pass.receivedByteCount, pass.decodeCount, pass.seconds)
  }
}
