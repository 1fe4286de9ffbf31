import Vitrine

/// The statuses of answers (RFC 9110, 15).
enum HTTPStatus: Int, CaseIterable {
  case ok = 200
  case created = 201
  case noContent = 204
  case partialContent = 206
  case notModified = 304
  case badRequest = 400
  case unauthorized = 401
  case forbidden = 403
  case notFound = 404
  case methodNotAllowed = 405
  case conflict = 409
  case lengthRequired = 411
  case preconditionFailed = 412
  case contentTooLarge = 413
  case unsupportedMediaType = 415
  case rangeNotSatisfiable = 416
  case headTooLarge = 431
  case internalServerError = 500
  case badGateway = 502
  case serviceUnavailable = 503
  case gatewayTimeout = 504
  case unsupportedVersion = 505
  case insufficientStorage = 507

  var reason: StaticString {
    switch self {
    case .ok: "OK"
    case .created: "Created"
    case .noContent: "No Content"
    case .partialContent: "Partial Content"
    case .notModified: "Not Modified"
    case .badRequest: "Bad Request"
    case .unauthorized: "Unauthorized"
    case .forbidden: "Forbidden"
    case .notFound: "Not Found"
    case .methodNotAllowed: "Method Not Allowed"
    case .conflict: "Conflict"
    case .lengthRequired: "Length Required"
    case .preconditionFailed: "Precondition Failed"
    case .contentTooLarge: "Content Too Large"
    case .unsupportedMediaType: "Unsupported Media Type"
    case .rangeNotSatisfiable: "Range Not Satisfiable"
    case .headTooLarge: "Request Header Fields Too Large"
    case .internalServerError: "Internal Server Error"
    case .badGateway: "Bad Gateway"
    case .gatewayTimeout: "Gateway Timeout"
    case .serviceUnavailable: "Service Unavailable"
    case .unsupportedVersion: "HTTP Version Not Supported"
    case .insufficientStorage: "Insufficient Storage"
    }
  }

  /// The status that tells a client of an error of the store.
  init(_ error: StoreError) {
    self =
      switch error {
      case .noSpace: .insufficientStorage
      case .tooLarge: .contentTooLarge
      case .invalidArgument: .badRequest
      case .readOnly: .methodNotAllowed
      case .aborted: .conflict
      case .writeFailed, .closed, .storeRemoved: .serviceUnavailable
      default: .internalServerError
      }
  }

  /// Whether an answer counts as a request error: each status from 400 on, except 404, 412 and 416, which are about a
  /// value, and 502, 503 and 504.
  var isError: Bool {
    switch self {
    case .notFound, .preconditionFailed, .rangeNotSatisfiable, .badGateway, .serviceUnavailable, .gatewayTimeout: false
    default: rawValue >= 400
    }
  }

  /// Whether an answer has no body and no length.
  var hasNoBody: Bool { self == .noContent || self == .notModified }

  var counter: Counter {
    switch rawValue {
    case ..<300: .successResponses
    case ..<400: .redirectResponses
    case ..<500: .clientErrorResponses
    default: .serverErrorResponses
    }
  }
}
