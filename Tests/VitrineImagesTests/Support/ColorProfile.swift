import CLCMS
import Foundation
import PictureFiles

/// ICC profiles made by LittleCMS, and LittleCMS's own conversion of single colors to sRGB.
enum ColorProfile: String, CaseIterable, Sendable {
  case displayP3
  case adobeRGB
  case proPhoto
  /// A profile with a table of colors in place of a matrix.
  case table
  case gray
  case inks

  var bytes: [UInt8] {
    switch self {
    case .displayP3: Self.matrix([0.3127, 0.3290, 0.680, 0.320, 0.265, 0.690, 0.150, 0.060], Self.sRGBCurve())
    case .adobeRGB: Self.matrix([0.3127, 0.3290, 0.64, 0.33, 0.21, 0.71, 0.15, 0.06], cmsBuildGamma(nil, 2.19921875))
    case .proPhoto:
      Self.matrix([0.3457, 0.3585, 0.7347, 0.2653, 0.1596, 0.8404, 0.0366, 0.0001], cmsBuildGamma(nil, 1.8))
    case .table:
      Self.table(cmsSigRgbData, cmsSigInputClass, channelCount: 3) { input, output, lab in
        guard let input, let output else { return 0 }
        // Mixes the channels and bends them.
        let lights = [0, 1, 2].map { channel in
          let (own, next) = (Double(input[channel]) / 65_535, Double(input[(channel + 1) % 3]) / 65_535)
          return UInt16(65_535 * pow(0.8 * own + 0.2 * next, 0.8))
        }
        cmsDoTransform(lab, lights, output, 1)
        return 1
      }
    case .gray: Self.saved(cmsCreateGrayProfile(cmsD50_xyY(), cmsBuildGamma(nil, 1.6)))
    case .inks:
      Self.table(cmsSigCmykData, cmsSigOutputClass, channelCount: 4) { input, output, lab in
        guard let input, let output else { return 0 }
        // Weak inks on gray paper.
        let black = 1 - 0.9 * Double(input[3]) / 65_535
        let lights = [0, 1, 2].map { UInt16(60_000 * (1 - 0.8 * Double(input[$0]) / 65_535) * black) }
        cmsDoTransform(lab, lights, output, 1)
        return 1
      }
    }
  }

  /// Profiles of sRGB as different programs write them.
  static var ofSRGB: [[UInt8]] {
    let points = [0.3127, 0.3290, 0.64, 0.33, 0.30, 0.60, 0.15, 0.06]
    let curve = sRGBCurve()
    let samples = (0..<1024).map { cmsEvalToneCurve16(curve, UInt16($0 * 65_535 / 1023)) }
    return [
      saved(cmsCreate_sRGBProfile()), matrix(points, curve),
      matrix(points, cmsBuildTabulatedToneCurve16(nil, 1024, samples)),
    ]
  }

  static func matrix(_ points: [Double], _ curve: OpaquePointer?) -> [UInt8] {
    saved(profile(points, curve))
  }

  static func profile(_ points: [Double], _ curve: OpaquePointer?) -> cmsHPROFILE? {
    var white = cmsCIExyY(x: points[0], y: points[1], Y: 1)
    var primaries = cmsCIExyYTRIPLE(
      Red: cmsCIExyY(x: points[2], y: points[3], Y: 1), Green: cmsCIExyY(x: points[4], y: points[5], Y: 1),
      Blue: cmsCIExyY(x: points[6], y: points[7], Y: 1))
    var curves = [curve, curve, curve]
    return cmsCreateRGBProfile(&white, &primaries, &curves)
  }

  static func sRGBCurve() -> OpaquePointer? {
    cmsBuildParametricToneCurve(nil, 4, [2.4, 1 / 1.055, 0.055 / 1.055, 1 / 12.92, 0.04045])
  }

  static func saved(_ profile: cmsHPROFILE?) -> [UInt8] {
    var count: cmsUInt32Number = 0
    guard cmsSaveProfileToMem(profile, nil, &count) != 0 else { return [] }
    var bytes = [UInt8](repeating: 0, count: Int(count))
    guard cmsSaveProfileToMem(profile, &bytes, &count) != 0 else { return [] }
    return bytes
  }

  /// A profile with a table from the colors of an invented device to Lab. `sampler` gets a conversion of sRGB to Lab.
  private static func table(
    _ space: cmsColorSpaceSignature, _ kind: cmsProfileClassSignature, channelCount: UInt32,
    _ sampler: cmsSAMPLER16
  ) -> [UInt8] {
    let profile = cmsCreateProfilePlaceholder(nil)
    cmsSetProfileVersion(profile, 2.4)
    cmsSetDeviceClass(profile, kind)
    cmsSetColorSpace(profile, space)
    cmsSetPCS(profile, cmsSigLabData)
    cmsWriteTag(profile, cmsSigMediaWhitePointTag, cmsD50_XYZ())
    let pipeline = cmsPipelineAlloc(nil, channelCount, 3)
    let stage = cmsStageAllocCLut16bit(nil, 9, channelCount, 3, nil)
    let lab = cmsCreateTransform(
      cmsCreate_sRGBProfile(), Format.rgb16, cmsCreateLab4Profile(nil), Format.lab16,
      cmsUInt32Number(INTENT_RELATIVE_COLORIMETRIC), 0)
    cmsStageSampleCLut16bit(stage, sampler, lab, 0)
    cmsPipelineInsertStage(pipeline, cmsAT_END, stage)
    cmsWriteTag(profile, cmsSigAToB0Tag, UnsafeRawPointer(pipeline))
    return saved(profile)
  }

  /// LittleCMS's formats of pixels, whose macros Swift does not import.
  enum Format {
    static let gray8: UInt32 = 3 << 16 | 1 << 3 | 1
    static let gray16: UInt32 = 3 << 16 | 1 << 3 | 2 | 1 << 11
    static let rgb8: UInt32 = 4 << 16 | 3 << 3 | 1
    static let rgb16: UInt32 = 4 << 16 | 3 << 3 | 2
    static let rgb16BigEndian: UInt32 = rgb16 | 1 << 11
    static let inks8: UInt32 = 6 << 16 | 4 << 3 | 1
    static let lab16: UInt32 = 10 << 16 | 3 << 3 | 2
  }

  /// LittleCMS's own result for one color, in a format of LittleCMS.
  static func converted(_ profile: [UInt8], _ color: [UInt8], _ format: UInt32) -> [UInt8] {
    ColorConversion(profile, format)(color)
  }
}

/// LittleCMS's own conversion of single colors to sRGB.
final class ColorConversion {
  private let transform: cmsHTRANSFORM?

  init(_ profile: [UInt8], _ format: UInt32, flags: UInt32 = 0) {
    let from = cmsOpenProfileFromMem(profile, cmsUInt32Number(profile.count))
    let to = cmsCreate_sRGBProfile()
    transform = cmsCreateTransform(
      from, format, to, ColorProfile.Format.rgb8, cmsUInt32Number(INTENT_PERCEPTUAL), flags)
    cmsCloseProfile(from)
    cmsCloseProfile(to)
  }

  deinit { cmsDeleteTransform(transform) }

  func callAsFunction(_ color: [UInt8]) -> [UInt8] {
    var result: [UInt8] = [0, 0, 0]
    cmsDoTransform(transform, color, &result, 1)
    return result
  }
}
