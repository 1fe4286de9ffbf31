import CacheCtlKit
import Glibc

/// A line on stderr with the progress of a long command; nothing if stderr is not a terminal.
package final class Progress {
  private let isShown = isatty(STDERR_FILENO) == 1
  private let label: String
  private var lastDraw: UInt64 = 0
  private var hasDrawn = false

  package init(_ label: String) { self.label = label }

  package func show(_ done: Int, of total: Int) {
    draw {
      let bar = Bar(symbols: Terminal.symbols, width: 40).text(done, of: max(total, 1))
      return "\(bar) \(Quantity.percent(done, of: total))"
    }
  }

  package func show(_ text: @autoclosure () -> String) { draw(text) }

  /// Clears the line; call before any other output.
  package func clear() {
    if hasDrawn { Diagnostics.write("\r\u{1B}[K") }
    hasDrawn = false
  }

  deinit { clear() }

  private func draw(_ text: () -> String) {
    guard isShown else { return }
    let now = Time.monotonicNanoseconds()
    guard now - lastDraw > 100_000_000 else { return }
    lastDraw = now
    hasDrawn = true
    Diagnostics.write("\r\u{1B}[K\(label) \(text())")
  }
}
