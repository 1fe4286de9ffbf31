/// A piece of news about a requested picture.
public enum PictureUpdate: Sendable {
  /// Bytes of the picture's download have arrived.
  case progress(DownloadProgress)
  /// A placeholder, a part of the picture, or the picture. ``PictureResponse/origin`` tells which.
  case picture(PictureResponse)
}
