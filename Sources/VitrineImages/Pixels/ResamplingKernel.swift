/// The weight of a source pixel by its distance from a target pixel.
///
/// ``catmullRom`` is the default, for smaller and larger pictures. The table shows the contrast that remains of a fine
/// pattern, at 0.25 and 0.4 periods for each target pixel. The beats are false patterns, from patterns too fine to be
/// shown (0.6 to 1.5 periods, on average):
///
/// |             | 0.25 | 0.4  | beats | beyond an edge, of its height |
/// |-------------|------|------|-------|-------------------------------|
/// | Catmull-Rom | 0.94 | 0.72 | 0.07  | 4 %                           |
/// | triangle    | 0.81 | 0.57 | 0.08  | 0                             |
/// | area        | 0.90 | 0.76 | 0.23  | 0                             |
/// | Lanczos 3   | 1.01 | 0.82 | 0.03  | 7 %, twice                    |
///
/// The area kernel shows beats on bricks, fences and writing; the triangle kernel makes a thumbnail look out of focus.
/// Lanczos costs 1.5 times as much, and in linear light its rings show beside lamps and letters. Those of Catmull-Rom
/// are hardly visible.
enum ResamplingKernel: Sendable, CaseIterable {
  case catmullRom
  case triangle
  case area

  /// The source pixels on either side, at a scale of 1 or above. Below 1, the radius is multiplied by the inverse
  /// scale. Pillow has the same kernels: BICUBIC, BILINEAR and BOX.
  var radius: Double {
    switch self {
    case .catmullRom: 2
    case .triangle: 1
    case .area: 0.5
    }
  }

  func weight(_ distance: Double) -> Double {
    let x = abs(distance)
    switch self {
    case .catmullRom:
      // Keys 1981, a = -0.5.
      return x < 1 ? (1.5 * x - 2.5) * x * x + 1 : x < 2 ? ((-0.5 * x + 2.5) * x - 4) * x + 2 : 0
    case .triangle: return max(0, 1 - x)
    case .area: return distance > -0.5 && distance <= 0.5 ? 1 : 0
    }
  }
}
