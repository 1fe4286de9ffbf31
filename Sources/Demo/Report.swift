import Vitrine

/// Prints the results of a run, for people.
struct Report {
  let outcome: Demonstration.Outcome
  let storePath: String

  func show() {
    kept()
    read()
    recovered()
    verified()
    speed()
    size()
    PictureReport(outcome: outcome.loading).show()
    ending()
  }

  private func kept() {
    heading("Kept")
    row("pictures", Text.count(outcome.pictures.count), Text.megabytes(outcome.pictures.byteCount))
    for kind in Thumbnail.allCases {
      let count = outcome.bitmaps.count / Thumbnail.allCases.count
      let layout = kind.layout
      row(
        kind.style.name, Text.count(count), Text.megabytes(count * layout.byteCount),
        "raw bitmaps, \(layout.width) x \(layout.height), \(layout.format.name)")
    }
    row("shared", Text.count(outcome.sharedCount), "", "equal bytes under another URL, not stored again")
    row(
      "compressed", Text.count(outcome.compressedCount), "",
      "pictures that zstd makes smaller; the rest stay plain")
  }

  private func read() {
    heading("Read back, every byte compared with its source")
    if outcome.tellsMappings {
      row("without a copy", Text.count(outcome.inPlaceCount), "", "pointers into the store's own files")
      if outcome.copiedCount > 0 { row("COPIED", Text.count(outcome.copiedCount), "") }
    } else {
      row("uncompressed", "", "", "this system does not tell whether they were copied")
    }
    row("decompressed", Text.count(outcome.decompressedCount), "")
  }

  private func recovered() {
    heading("Killed \(outcome.killCount) times while writing (SIGKILL), then opened again")
    row("acknowledged", Text.count(outcome.acknowledgedCount), "", "puts that had returned before the kill")
    row("recovered", Text.count(outcome.recoveredCount), "", "of them, byte for byte")
    row("besides", Text.count(outcome.unacknowledgedCount), "", "whole, though not yet acknowledged")
    if let recovery = outcome.recovery {
      row("replayed", Text.count(recovery.replayedCount), "", "changes of the log since its last checkpoint")
      for note in recovery.notes { row("note", "", "", note) }
    }
  }

  private func verified() {
    let verification = outcome.verification
    heading("Verified")
    row("records", Text.count(verification.recordCount), Text.megabytes(verification.byteCount))
    row("damaged", Text.count(verification.damaged.count), "")
    row("lost", Text.count(verification.lost.count), "")
  }

  private func speed() {
    heading("How fast" + (Self.isDebug ? " (a debug build: these speeds mean nothing)" : ""))
    let (pictures, bitmaps) = (outcome.pictures.byteCount, outcome.bitmaps.byteCount)
    row("put", Text.rate(pictures, outcome.putSeconds.pictures), "", "pictures, buffered, one thread")
    row("", Text.rate(bitmaps, outcome.putSeconds.bitmaps), "", "raw bitmaps, the same way")
    row(
      "get", Text.count(Int(outcome.getNanoseconds.rounded())) + " ns", "",
      "borrowed, warm, in random order, median of 6 x \(Text.count(outcome.getCount))")
    row("open", Text.milliseconds(outcome.cleanOpenSeconds), "", "after an orderly close")
    row("", Text.milliseconds(outcome.recoverySeconds), "", "after the kill")
    row("verify", Text.rate(outcome.verification.byteCount, outcome.verifySeconds), "")
  }

  private func size() {
    guard let statistics = outcome.statistics else { return }
    heading("How big")
    let share = Double(statistics.bytesOnDisk) / Double(max(1, statistics.byteBudget))
    row(
      "on disk", Text.megabytes(statistics.bytesOnDisk), "",
      Text.bar(share) + " of a budget of " + Text.megabytes(statistics.byteBudget))
    row("values", Text.megabytes(statistics.logicalByteCount), "", "as gets give them, each key counted")
    row(
      "entries", Text.count(statistics.entryCount), "", "in \(Text.count(statistics.segments.count)) segments"
    )
  }

  private func ending() {
    print()
    if outcome.failureCount == 0 {
      print("  Everything checked, in \(Text.decimal(outcome.seconds)) s.  The store is in \(storePath)")
    } else {
      print(
        "  FAILED: \(Text.count(outcome.failureCount)) checks did not hold.  The store is in \(storePath)")
      for failure in outcome.failures { print("    " + failure) }
      if outcome.failureCount > outcome.failures.count { print("    ...") }
    }
    print()
  }

  // MARK: Layout

  private func heading(_ text: String) { print("\n  \(text)") }

  private func row(_ label: String, _ value: String, _ size: String, _ remark: String = "") {
    var line = "    " + Text.padded(label, to: 18) + Text.rightAligned(value, to: 11)
    line += Text.rightAligned(size, to: 12) + "   " + remark
    while line.last == " " { line.removeLast() }
    print(line)
  }

  private static var isDebug: Bool {
    var isDebug = false
    assert(
      {
        isDebug = true
        return true
      }())
    return isDebug
  }
}
