/// How much a source pixel counts by its distance from a target pixel.
///
/// ``catmullRom`` is the default, for smaller and for larger pictures. What the three keep of a fine pattern, at 0.25 and
/// 0.4 periods for each target pixel, and what of patterns too fine to be shown (0.6 to 1.5, in the mean) comes through as
/// beats that are not in the picture:
///
/// |             | 0.25 | 0.4  | beats | beyond an edge, of its height |
/// |-------------|------|------|-------|-------------------------------|
/// | Catmull-Rom | 0.94 | 0.72 | 0.07  | 4 %                           |
/// | triangle    | 0.81 | 0.57 | 0.08  | 0                             |
/// | area        | 0.90 | 0.76 | 0.23  | 0                             |
/// | Lanczos 3   | 1.01 | 0.82 | 0.03  | 7 %, twice                    |
///
/// Area beats on bricks, fences and writing; triangle makes a thumbnail look out of focus. Lanczos costs half as much again,
/// and in linear light its rings show beside lamps and letters; Catmull-Rom's are hardly seen.
enum ResamplingKernel: Sendable, CaseIterable {
  case catmullRom
  case triangle
  case area

  /// Source pixels to either side, at a scale of 1 or above; below, it is stretched by the scale (as in Pillow, whose
  /// kernels BICUBIC, BILINEAR and BOX these are).
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
