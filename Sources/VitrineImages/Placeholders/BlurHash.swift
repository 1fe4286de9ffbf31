import Foundation

/// The algorithm BlurHash, published by Wolt at https://github.com/woltapp/blurhash (Algorithm.md): amounts of light as
/// a sum of at most 9 by 9 cosines, in text of base 83.
enum BlurHash {
  /// Uses 4 cosines across and 3 down, or 3 and 4 for a portrait: 28 characters. Transparent parts get the average
  /// color of the picture, since the text holds no alpha.
  static func text(of picture: SmallPicture) -> String {
    let (width, height) = (picture.size.width, picture.size.height)
    let (across, down) = width >= height ? (4, 3) : (3, 4)
    let light = picture.composed.map { SIMD3(decoded($0[0]), decoded($0[1]), decoded($0[2])) }
    let (columns, rows) = (table(across, width), table(down, height))
    var factors = [SIMD3<Double>](repeating: .zero, count: across * down)
    for y in 0..<height {
      for i in 0..<across {
        var line = SIMD3<Double>.zero
        for x in 0..<width { line += light[y * width + x] * columns[i, x] }
        for j in 0..<down { factors[j * across + i] += line * rows[j, y] }
      }
    }
    for index in factors.indices { factors[index] *= (index == 0 ? 1 : 2) / Double(width * height) }
    let largest = factors.dropFirst().map { max(abs($0[0]), abs($0[1]), abs($0[2])) }.max() ?? 0
    let quantized = max(0, min(82, Int((largest * 166 - 0.5).rounded(.down))))
    let scale = Double(quantized + 1) / 166
    var text = digits(across - 1 + (down - 1) * 9, 1) + digits(quantized, 1)
    text += digits(byte(factors[0][0]) << 16 + byte(factors[0][1]) << 8 + byte(factors[0][2]), 4)
    for factor in factors.dropFirst() {
      let steps = (0..<3).map { channel -> Int in
        let value = factor[channel] / scale
        let root = value < 0 ? -(-value).squareRoot() : value.squareRoot()
        return max(0, min(18, Int((root * 9 + 9.5).rounded(.down))))
      }
      text += digits((steps[0] * 19 + steps[1]) * 19 + steps[2], 2)
    }
    return text
  }

  /// Returns the picture that a text describes, or nil if the text is not a BlurHash. The size is free, because the
  /// text does not hold the picture's.
  static func picture(_ text: String, size: PixelSize) -> SmallPicture? {
    guard let hash = Parsed(text) else { return nil }
    let (columns, rows) = (table(hash.across, size.width), table(hash.down, size.height))
    var pixels: [SIMD4<Double>] = []
    pixels.reserveCapacity(size.width * size.height)
    for y in 0..<size.height {
      let line = (0..<hash.across).map { i in
        (0..<hash.down).reduce(SIMD3<Double>.zero) { $0 + hash.factors[$1 * hash.across + i] * rows[$1, y] }
      }
      for x in 0..<size.width {
        var light = SIMD3<Double>.zero
        for i in 0..<hash.across { light += line[i] * columns[i, x] }
        pixels.append(
          SIMD4(
            SmallPicture.encoded(light[0]), SmallPicture.encoded(light[1]), SmallPicture.encoded(light[2]), 1))
      }
    }
    return SmallPicture(size: size, pixels: pixels)
  }

  /// Returns whether a text is a BlurHash. O(its bytes).
  static func isValid(_ text: String) -> Bool { Parsed(text) != nil }

  private struct Parsed {
    let across: Int
    let down: Int
    var factors: [SIMD3<Double>] = []

    init?(_ text: String) {
      let digits = text.utf8.prefix(BlurHash.mostDigits + 1).map { BlurHash.value[$0] ?? -1 }
      guard digits.count >= 6, digits.count <= BlurHash.mostDigits, !digits.contains(-1) else { return nil }
      (across, down) = (digits[0] % 9 + 1, digits[0] / 9 + 1)
      guard down <= 9, digits.count == 4 + 2 * across * down else { return nil }
      let scale = Double(digits[1] + 1) / 166
      let average = digits[2..<6].reduce(0) { $0 * 83 + $1 }
      guard average < 1 << 24 else { return nil }
      factors.append(SIMD3(light(average >> 16), light(average >> 8 & 255), light(average & 255)))
      for start in stride(from: 6, to: digits.count, by: 2) {
        let number = digits[start] * 83 + digits[start + 1]
        guard number < 19 * 19 * 19 else { return nil }
        func factor(_ step: Int) -> Double {
          let part = Double(step - 9) / 9
          return part * abs(part) * scale
        }
        factors.append(SIMD3(factor(number / 361), factor(number / 19 % 19), factor(number % 19)))
      }
    }

    private func light(_ byte: Int) -> Double { TransferCurve.decoded(Double(byte) / 255) }
  }

  // MARK: Numbers

  private static let mostDigits = 4 + 2 * 9 * 9
  private static let alphabet = Array(
    "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz#$%*+,-.:;=?@[]^_{|}~".utf8)
  private static let value = Dictionary(uniqueKeysWithValues: alphabet.enumerated().map { ($1, $0) })

  private static func digits(_ number: Int, _ count: Int) -> String {
    var rest = number
    var digits: [UInt8] = []
    for _ in 0..<count {
      digits.append(alphabet[rest % 83])
      rest /= 83
    }
    return String(decoding: digits.reversed(), as: UTF8.self)
  }

  private static func table(_ waveCount: Int, _ count: Int) -> CosineTable {
    CosineTable(waveCount: waveCount, count: count, shift: 0)
  }

  private static func decoded(_ value: Double) -> Double { TransferCurve.decoded(min(max(value, 0), 1)) }
  private static func byte(_ light: Double) -> Int {
    Int((TransferCurve.encoded(min(max(light, 0), 1)) * 255).rounded())
  }
}
