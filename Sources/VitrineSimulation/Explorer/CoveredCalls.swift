import Vitrine

/// The calls of the engine that change the disk, with the states that cut them off.
struct CoveredCalls {
  private var sites: [Site: CrashReport.CallSite] = [:]

  /// Counts these operations, and by number of the last complete operation the inspected states.
  mutating func cover(_ operations: [DiskOperation], _ cuts: [Int: Int]) {
    for operation in operations {
      let (before, behind) = (cuts[operation.index] ?? 0, cuts[operation.index + 1] ?? 0)
      let site = Site(operation)
      sites[site, default: CrashReport.CallSite(site)].cutBefore += before
      sites[site, default: CrashReport.CallSite(site)].cutAfter += behind
    }
  }

  /// By file and line of the engine.
  var sorted: [CrashReport.CallSite] { sites.sorted { $0.key < $1.key }.map(\.value) }
}

/// The unit of counting: one call of the engine on one kind of files.
private struct Site: Hashable, Comparable {
  let source: CallSite?
  let operation: String
  let file: String

  init(_ operation: DiskOperation) {
    source = operation.site
    self.operation = operation.name
    file = operation.fileClass
  }

  static func < (one: Site, other: Site) -> Bool { one.order < other.order }

  private var order: (String, Int, String, String) { (source?.file ?? "", source?.line ?? 0, file, operation) }
}

extension CrashReport.CallSite {
  fileprivate init(_ site: Site) {
    self.init(source: site.source.map { "\($0)" } ?? "", operation: site.operation, file: site.file)
  }
}

extension DiskOperation {
  /// The folder of the file, or the name of a single file.
  var fileClass: String {
    let parts = path.split(separator: "/").dropFirst()
    guard let first = parts.first else { return "the folder" }
    return parts.count > 1 ? "\(first)/*" : isOfFolder ? "\(first)/" : String(first)
  }

  private var isOfFolder: Bool {
    switch change {
    case .syncDirectory, .createDirectory: true
    default: false
    }
  }
}
