import Foundation
import Vitrine
import VitrineImages

/// One pass through the list. A thread acts as the drawing thread at 60 frames a second, and a pipeline loads the
/// pictures.
struct ListRun {
  struct Result: Codable, Sendable {
    var preheating: String
    var rowCount = 0
    /// Rows with a picture at their first appearance on the screen, and how many of the others were on the first
    /// screen.
    var readyRows = 0
    var firstScreenMisses = 0
    /// Counts of all appearances of rows.
    var appearances = 0
    var readyAppearances = 0
    var mappedAppearances = 0
    var frameCount = 0
    /// Frames that were more than one frame late, because of the machine.
    var lateFrameCount = 0
    var cpu = FrameTimes.Summary()
    var wall = FrameTimes.Summary()
    /// Counted in the server's log.
    var downloads = 0
    var downloadedTwice = 0

    var readyShare: Double { Double(readyRows) / Double(max(1, rowCount)) }
    var readyShareBehindFirstScreen: Double {
      Double(readyRows) / Double(max(1, rowCount - firstScreenMisses))
    }
    var readyAppearanceShare: Double { Double(readyAppearances) / Double(max(1, appearances)) }
    var mappedShare: Double { Double(mappedAppearances) / Double(max(1, readyAppearances)) }

    mutating func noteDownloads(_ paths: [String]) {
      downloads = paths.count
      downloadedTwice = Dictionary(grouping: paths) { $0 }.values.count { $0.count > 1 }
    }
  }

  private let rows: ListRows
  private let scroll: ListScroll
  private let preheating: ListPreheating
  private let pipeline: PicturePipeline

  init(_ rows: ListRows, _ scroll: ListScroll, _ preheating: ListPreheating, _ store: CacheStore) {
    self.rows = rows
    self.scroll = scroll
    self.preheating = preheating
    // Connections for requests, and as many more as pictures are preheated at a time.
    var configuration = PicturePipeline.Configuration(
      storage: StoreStorage(store), loader: HTTPLoader(connectionsPerHost: 6 + preheating.limit))
    configuration.families = [ListRows.styles]
    configuration.preheatingLimit = preheating.limit
    pipeline = PicturePipeline(configuration)
  }

  func run() async throws -> Result {
    let result: Result = await withCheckedContinuation { continuation in
      let thread = Thread {
        var screen = ListScreen(rows, preheating, pipeline)
        continuation.resume(returning: drawAllFrames(on: &screen))
      }
      thread.qualityOfService = .userInteractive
      thread.start()
    }
    pipeline.stopAllPreheating()
    return result
  }

  /// Draws in real time: a late frame is skipped, and the next one shows the list's current position.
  private func drawAllFrames(on screen: inout ListScreen) -> Result {
    let start = WallTime.now
    var times = FrameTimes()
    var late = 0
    var last = -1
    while last < scroll.offsets.count - 1 {
      let due = start + Double(last + 1) / ListScroll.framesPerSecond
      Thread.sleep(forTimeInterval: max(0, due - WallTime.now))
      let frame = min(
        max(last + 1, Int((WallTime.now - start) * ListScroll.framesPerSecond)), scroll.offsets.count - 1)
      if frame > last + 1 { late += 1 }
      last = frame
      times.measure { screen.draw(offset: scroll.offsets[frame]) }
    }
    screen.giveUp()
    var result = screen.result
    result.frameCount = times.count
    result.lateFrameCount = late
    result.cpu = times.cpu
    result.wall = times.wall
    return result
  }
}
