import CacheCtlKit
import Vitrine

/// Records that failed their check, for programs and for people.
enum ProblemReport {
  static func json(_ problems: [VerificationReport.Problem]) -> JSON {
    .array(
      problems.map { problem in
        .object(
          [("file", .string(problem.file)), ("offset", .int(problem.offset))] + JSON.members(key: problem.key)
            + [("reason", .string(problem.reason))])
      })
  }

  /// Returns a line with the place and the reason of each problem, and a second line with its key if the key is known.
  static func text(_ problems: [VerificationReport.Problem]) -> String {
    problems.map { problem in
      let place = "  \(problem.file) at \(problem.offset): \(problem.reason)\n"
      guard let key = problem.key else { return place }
      return place + "    \(printable(key.url)) (\(key.style))\n"
    }.joined()
  }
}
