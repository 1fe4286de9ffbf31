import Foundation

/// JPEG XL files of 16 x 8 pixels, made with `cjxl` of libjxl. The left half is red and the right half blue.
package enum JPEGXLFile {
  /// Lossy.
  package static let lossy = decoded(
    """
    /wrBQUJxIQASiAIAMAFd5RIAABUqo4wbvJzr+fJDh8W0jesMbbVtYUmiyDg2SSdwSBJruF0BjWG82WPmmf41d2zgSVVDOIVKEkWU27hkgABYOeABKBMw
    cg8s
    """)

  /// Lossless.
  package static let lossless = decoded(
    """
    /wrBQUBxIQgCAQCAAEsYixUA1CJjjFHUBUIAoBwWAAgkh4AkSa4fJIOQFDB2
    """)

  /// Lossless, with an alpha of 100 in the lower half.
  package static let withAlpha = decoded(
    """
    /wrBwYLiQggIEACkAEsYk46DgwCoK5IxSr2AEACpww4KENAyPvSjVQF/Hz2EbGQDDePuYXBP
    """)

  /// Lossless and gray: 60 on the left, 180 on the right.
  package static let gray = decoded(
    """
    /wrBQVBcCAgCAQBYAEsYixUAlIyMMUbyAiAAUA5IweBA1HA=
    """)

  /// Lossless, of 32-bit floating-point numbers: pure red and pure blue.
  package static let floatingPoint = decoded(
    """
    AAAADEpYTCANCocKAAAAFGZ0eXBqeGwgAAAAAGp4bCAAAAAJanhsbAoAAABDanhsY/8KwckBFBcCCAIBALQASxiLFQSki4wxmESRFwgBwMpX2QUAAOCP
    PPj/j/z/K1NMS6+vEAScC9HlwEMAJPE=
    """)

  /// Lossless, in a container.
  package static let contained = decoded(
    """
    AAAADEpYTCANCocKAAAAFGZ0eXBqeGwgAAAAAGp4bCAAAAA1anhsY/8KwUFAcSEIAgEAgABLGIsVANQiY4xR1AVCAKAcFgAIJIeAJEmuHySDkBQwdg==
    """)

  /// Two frames, of which the second has its halves exchanged.
  package static let animated = decoded(
    """
    /wrBBQFYUFwSCAgghQAAiABLGIsVANQlY4xR7AVEAIAc6bSAgDIprx8k05GUuxCnAtAdCAgykRQBAIgASxiLFQDUjYwxRrEXEAGAdBgCAJcOArosCX+Q
    UovkrgqIEQ==
    """)

  /// Lossy, in a container, to be turned clockwise by 90 degrees.
  package static let turned = decoded(
    """
    AAAADEpYTCANCocKAAAAFGZ0eXBqeGwgAAAAAGp4bCAAAABjanhsY/8KwS2QUFwSABKIAgAwAV3lEgAAFSqjjBu8nOv58kOHxbSN6wxttW1hSaLIODZJ
    J3BIEmu4XQGNYbzZY+aZ/jV3bORJVUM4hUoSRZTbuGSAAFg54AEoEzByDyw=
    """)

  /// Lossless, in Display P3.
  package static let displayP3 = decoded(
    """
    /wrBQUAmFwIIAgEAgABLGIsVANQiY4xR1AVCAKAcFgAIJIeAJEmuHySDkBQwdg==
    """)

  private static func decoded(_ text: String) -> [UInt8] {
    [UInt8](Data(base64Encoded: text, options: .ignoreUnknownCharacters)!)
  }
}
