import Vitrine

@testable import VitrineImages

/// Random parts of a style, valid or not.
struct RandomStyle {
  var shape: ImageStyle.Shape
  var scale: Points
  var format: PixelFormat

  init(_ random: inout SeededRandom) {
    func length(_ random: inout SeededRandom) -> Points {
      switch random.below(8) {
      case 0: Points(thousandths: random.below(4))
      case 1: Points(thousandths: random.below(20_000_000))
      case 2: Points(thousandths: random.below(100) * 500)
      case 3: Points([-1, .nan, .infinity, -0.0, 1e300, 16384, 16384.5][random.below(7)])
      case 4: Points(thousandths: random.below(100_000))
      default: Points(thousandths: (1 + random.below(300)) * 1000)
      }
    }
    func text(_ random: inout SeededRandom, _ least: Int) -> String {
      let words = [
        "badge", "a", "", "x", "fit", "free-a.v1", "@2x", ":RGB565", "-", ".v3", "%41", "ü", "u\u{308}", "日本", "\0",
        " ", "A_b9", "original", String(repeating: "n", count: 64), String(repeating: "%", count: 65), "\u{10FFFF}",
      ]
      var text = ""
      for _ in 0..<(least + random.below(3)) { text += words[random.below(words.count)] }
      return text
    }
    let mode: ContentMode = random.chance(30) ? .fit : .fill
    let (width, height) = (length(&random), length(&random))
    let other = random.chance(30) ? width : height
    switch random.below(10) {
    case 0: shape = .original
    case 1...4: shape = .rectangle(width: width, height: other, mode: mode)
    case 5...7:
      let half = Points(min(width, other).value / 2)
      shape = .roundedRectangle(
        width: width, height: other, cornerRadius: random.chance(50) ? half : length(&random),
        borderWidth: random.chance(50) ? 0 : length(&random), mode: mode)
    default:
      let version = random.chance(90) ? random.below(30) : [-1, 999_999_999, 1_000_000_000, .max][random.below(4)]
      shape = .free(
        FreeForm(text(&random, 1), version: version, parameter: text(&random, 0), draw: { picture, _ in picture }))
    }
    scale = random.chance(60) ? 1 : random.chance(70) ? Points(Double(1 + random.below(4))) : length(&random)
    format = random.chance(60) ? .bgra8888 : PixelFormat.allCases[random.below(6)]
  }

  func style() throws(ImageError) -> ImageStyle { try ImageStyle(shape, scale: scale, format: format) }

  /// Returns nil if the random parts contradict each other.
  static func valid(_ random: inout SeededRandom) -> ImageStyle? { try? RandomStyle(&random).style() }

  /// Whether two styles are the same, by their parts and not by their names.
  static func isSame(_ a: ImageStyle, _ b: ImageStyle) -> Bool {
    a.shape == b.shape && a.scale == b.scale && a.format == b.format
  }
}
