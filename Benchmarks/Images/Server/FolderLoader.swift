import Foundation
import VitrineImages

/// Loads files of one folder, for scenes without a network: a URL is a file's name.
struct FolderLoader: ByteLoading {
  let photos: Photos

  func load(_ request: LoadRequest, _ receiver: any LoadReceiving) async throws {
    let bytes = try Data(photos.bytes(of: request.url))
    try receiver.begin(LoadResponse(expectedByteCount: bytes.count))
    try receiver.receive(bytes)
  }
}
