/// Prints the pictures that came over HTTP, as a table.
struct PictureReport {
  let outcome: PictureLoading.Outcome

  func show() {
    print(
      "\n  Pictures over HTTP: \(Text.count(outcome.photoCount)) photos, \(Text.megabytes(outcome.byteCount)), "
        + "\(outcome.origin), served at \(outcome.address)")
    print("  in the styles \(PictureLoading.styleNames.joined(separator: ", "))")
    print(
      "    " + Text.padded("", to: 13)
        + ["pictures", "requests", "bytes", "decodes", "ms", "ms each"]
        .map { Text.rightAligned($0, to: 10) }.joined())
    for (name, pass, remark) in outcome.passes {
      let milliseconds = pass.seconds * 1000
      let cells = [
        Text.count(pass.pictureCount), Text.count(pass.requestCount), Text.megabytes(pass.receivedByteCount),
        Text.count(pass.decodeCount), Text.decimal(milliseconds),
        hundredths(milliseconds / Double(max(1, pass.pictureCount))),
      ]
      print(
        "    " + Text.padded(name, to: 13) + cells.map { Text.rightAligned($0, to: 10) }.joined() + "   " + remark)
    }
    for (name, reason) in outcome.leftOut { print("    left out     \(name): \(reason)") }
    if outcome.leftOutCount > outcome.leftOut.count { print("    ...") }
    if !outcome.sheetPath.isEmpty { print("    All of it, to look at: \(outcome.sheetPath)") }
  }

  private func hundredths(_ value: Double) -> String {
    let hundredths = Int((value * 100).rounded())
    let rest = hundredths % 100
    return "\(Text.count(hundredths / 100)).\(rest < 10 ? "0" : "")\(rest)"
  }
}
