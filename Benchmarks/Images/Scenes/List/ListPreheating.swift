import VitrineImages

/// A part of the rows ahead that is preheated, and the way to preheat it.
struct ListPreheating: Sendable {
  let name: String
  var isOn = true
  var window = PreheatWindow()
  /// The number of pictures loaded at the same time.
  var limit = 2

  static let all = [
    ListPreheating(name: "none", isOn: false),
    ListPreheating(name: "as it comes: two at a time, a window of 2 screens"),
    ListPreheating(
      name: "six at a time, a window of 11 screens",
      window: PreheatWindow(relativeLength: 11, relativeShift: 1, relativeThreshold: 0.1), limit: 6),
  ]
}
