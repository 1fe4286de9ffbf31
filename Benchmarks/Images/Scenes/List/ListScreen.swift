import Vitrine
import VitrineImages

/// The work of an app for each frame of a scrolling list. Used by one thread.
struct ListScreen {
  private(set) var result: ListRun.Result

  private static let rowLength = 60.0
  private let rows: ListRows
  private let layout: UniformGrid
  private let pipeline: PicturePipeline
  private let isPreheating: Bool
  private var window: PreheatWindow
  private var wanted = WantedRows()
  private let screen = Screen()
  /// Rows on the screen.
  private var visible = 0..<0
  /// The pictures that they show.
  private var bitmaps: [Int: Bitmap] = [:]
  /// Requests for rows that had to wait. A request continues when its row leaves, because the row may return and other
  /// rows have the same picture.
  private var tasks: [Int: Task<Void, Never>] = [:]
  /// Pictures that arrived since the last frame.
  private let arrived = Locked<[(row: Int, bitmap: Bitmap)]>([])
  private var hasAppeared: [Bool]

  init(_ rows: ListRows, _ preheating: ListPreheating, _ pipeline: PicturePipeline) {
    self.rows = rows
    self.pipeline = pipeline
    isPreheating = preheating.isOn
    window = preheating.window
    layout = UniformGrid(itemCount: rows.count, rowLength: ListScreen.rowLength)
    hasAppeared = [Bool](repeating: false, count: rows.count)
    result = ListRun.Result(preheating: preheating.name, rowCount: rows.count)
  }

  /// Does all work of one frame: takes arrived pictures, sets those of new rows, moves the window, draws everything.
  mutating func draw(offset: Double) {
    let start = offset * ListScreen.rowLength
    let seen = start..<start + Double(ListRows.visibleCount) * ListScreen.rowLength
    takeArrived()
    let now = layout.items(in: seen)
    for row in visible where !now.contains(row) { bitmaps[row] = nil }
    for row in now where !visible.contains(row) { appear(row) }
    visible = now
    if let change = window.update(visible: seen, in: layout) { follow(change) }
    for row in now {
      if let bitmap = bitmaps[row] { screen.show(bitmap) }
    }
  }

  func giveUp() { for task in tasks.values { task.cancel() } }

  private mutating func appear(_ row: Int) {
    let response = pipeline.imageInMemory(for: rows.requests[row])
    note(row, response?.bitmap)
    if let bitmap = response?.bitmap {
      bitmaps[row] = bitmap
    } else if tasks[row] == nil {
      tasks[row] = Task { [pipeline, arrived, request = rows.requests[row]] in
        guard let bitmap = try? await pipeline.image(for: request).bitmap else { return }
        arrived.withLock { $0.append((row, bitmap)) }
      }
    }
  }

  private mutating func takeArrived() {
    let new = arrived.withLock { arrived in
      defer { arrived.removeAll() }
      return arrived
    }
    for (row, bitmap) in new {
      tasks[row] = nil
      if visible.contains(row) { bitmaps[row] = bitmap }
    }
  }

  private mutating func follow(_ change: PreheatWindow.Change) {
    guard isPreheating else { return }
    let left = wanted.leave(change.left.map { rows.requests[$0] })
    let entered = wanted.enter(change.entered.map { rows.requests[$0] })
    pipeline.stopPreheating(left)
    pipeline.startPreheating(entered)
  }

  private mutating func note(_ row: Int, _ bitmap: Bitmap?) {
    result.appearances += 1
    if let bitmap {
      result.readyAppearances += 1
      if bitmap.isMapped { result.mappedAppearances += 1 }
    }
    if hasAppeared[row] { return }
    hasAppeared[row] = true
    if bitmap != nil { result.readyRows += 1 } else if visible.isEmpty { result.firstScreenMisses += 1 }
  }
}
