import Testing

@testable import VitrineImages

/// The loaders for HTTP of this system.
enum LoaderKind: String, CaseIterable, CustomTestStringConvertible {
  #if os(Linux)
    case curl
  #endif
  case urlSession

  var testDescription: String { rawValue }

  func loader(timeoutSeconds: Double = 3600, mostSeconds: Double = 3600) -> any ByteLoading {
    switch self {
    #if os(Linux)
      case .curl: CurlLoader(timeoutSeconds: timeoutSeconds, mostSeconds: mostSeconds, loadsFiles: false)
    #endif
    case .urlSession: URLSessionLoader(timeoutSeconds: timeoutSeconds, mostSeconds: mostSeconds)
    }
  }
}
