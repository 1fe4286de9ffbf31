import VitrineImages
import VitrineSimulation

/// The rows: each shows a person's avatar in one of three styles.
struct ListRows: Sendable {
  static let visibleCount = 10
  static let styles = ["rounded-40x40-r20@2x", "rounded-60x60-r30@2x", "square-100@2x"].map {
    try! ImageStyle(name: $0)
  }

  /// One request for each row.
  let requests: [PictureRequest]
  var count: Int { requests.count }

  init(count: Int, urls: [String], seed: UInt64) {
    var random = SplitMix64(seed: seed &+ 17)
    requests = (0..<count).map { _ in
      PictureRequest(urls[random.next(below: urls.count)], style: ListRows.styles[random.next(below: 3)])
    }
  }
}
