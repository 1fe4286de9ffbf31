#if Server && Images
  import Dispatch
  import Foundation
  import Synchronization
  import Vitrine
  import VitrineImages
  import VitrineServer

  /// Makes pictures for clients of the server through a pipeline over the store. Thread-safe.
  final class PictureMaker: PictureMaking {
    private let loader: CurlLoader
    private let pipeline: PicturePipeline
    private let rules: Rules
    private let places: PicturePlaces
    /// The calls of ``picture(_:)``.
    private let calls = DispatchGroup()
    private let reasons = Mutex<[String: PictureAnswer.Refusal]>([:])

    /// The rules for pictures that clients request.
    struct Rules {
      /// Servers as `host:port`.
      var servers: Set<String>
      /// Nil for every style with a size of at most ``mostSide`` pixels a side.
      var styles: Set<ImageStyle>?
      var allowsPrivateAddresses = false
      /// The time limit of a picture.
      var seconds = 30
      /// The longest lifetime in seconds. After it, the origin is asked again.
      var mostAgeSeconds = 86_400
    }

    static let mostSide = 2048
    static let limits = DecodingLimits(pixelCount: 50_000_000, byteCount: 256 << 20, milliseconds: 5000)
    private static let mostReasons = 1000

    init(
      _ store: CacheStore, _ rules: Rules, encoder: ImageEncoder, decoder: any PictureDecoding,
      places: PicturePlaces = PicturePlaces(most: 64, mostPerServer: 4)
    ) {
      self.places = places
      loader = CurlLoader(
        timeoutSeconds: Double(rules.seconds), mostSeconds: Double(rules.seconds), mostRedirects: 5,
        loadsFiles: false, allowedServers: rules.servers, allowsPrivateAddresses: rules.allowsPrivateAddresses)
      var configuration = PicturePipeline.Configuration(
        storage: PictureStorage(store), loader: loader, decoder: decoder, encoder: encoder)
      configuration.styledForm = .encoded
      configuration.placeholders = nil
      // A cache of bitmaps has no use, because pictures are sent as files.
      configuration.memory = MemoryLimits(cost: 0)
      configuration.isShared = true
      configuration.maximumAgeMilliseconds = Int64(rules.mostAgeSeconds) * 1000
      // A download ends before the place of its picture is free, so that a silent server takes no further places.
      configuration.attemptCount = 1
      configuration.silenceMilliseconds = (rules.seconds + 1) * 1000
      // Together with the limits of an original, these bound the memory.
      configuration.loadLimit = 12
      configuration.decodeLimit = min(ProcessInfo.processInfo.activeProcessorCount, 4)
      configuration.mostBytes = 32 << 20
      pipeline = PicturePipeline(configuration)
      self.rules = rules
    }

    func picture(_ query: PictureQuery) async -> PictureAnswer {
      calls.enter()
      defer { calls.leave() }
      // The client has left, or the server has stopped. After a stop, the store may be closed.
      if Task.isCancelled { return .refused(.failed, "the request was canceled") }
      guard let style = try? ImageStyle(name: query.style), let size = style.pixelSize,
        max(size.width, size.height) <= PictureMaker.mostSide
      else {
        return .refused(.malformed, "a style has a size, of at most \(PictureMaker.mostSide) pixels a side")
      }
      if let styles = rules.styles, !styles.contains(style) {
        return .refused(.forbidden, "the style is not one of --image-style")
      }
      guard CurlLoader.isAddress(query.url) else { return .refused(.malformed, "the URL is not one of http or https") }
      guard let address = loader.allowedAddress(query.url) else {
        return .refused(.forbidden, "the URL names a server that is not one of --image-host, or a user")
      }
      let request = PictureRequest(address.url, style: style)
      if let kept = await pipeline.keptEncodedImage(for: request) { return answer(kept) }
      let place = PictureQuery(style: style.name, url: address.url)
      do {
        return answer(
          try await limited(place) { [pipeline, places] in
            try await places.run(place, of: address.server) { try await pipeline.encodedImage(for: request) }
          })
      } catch is Overloaded {
        return .refused(.overloaded, "too many pictures are being made")
      } catch LoadError.failedBefore(let reason, _) {
        return .refused(reasons.withLock { $0[reason] } ?? .originFailed, reason)
      } catch let error as LoadError {
        return refused(PictureMaker.refusal(error), error.description)
      } catch let error as ImageError {
        return refused(PictureMaker.refusal(error), error.description)
      } catch {
        return .refused(.failed, "the picture cannot be made")
      }
    }

    /// Waits for the last use of the store, after the server has stopped. Blocks the thread.
    func finish() {
      calls.wait()
      let hasEnded = DispatchSemaphore(value: 0)
      let rest = Task.detached { [pipeline] in
        await pipeline.finishWork()
        hasEnded.signal()
      }
      rest.cancel()
      hasEnded.wait()
    }

    private func answer(_ picture: EncodedPicture) -> PictureAnswer {
      let content: PictureFile.Content =
        switch picture.bytes {
        case .blob(let blob): .value(blob)
        case .array(let bytes): .bytes(bytes)
        }
      let now = Time.wallMilliseconds() / 1000
      let freshSeconds = picture.freshUntilMilliseconds.map { $0 / 1000 - now } ?? 0
      return .picture(
        PictureFile(
          content, mediaType: picture.format.mimeType, freshSeconds: freshSeconds, isNoStore: picture.isNoStore))
    }

    /// Notes the kind of refusal. The pipeline remembers only a failed load's reason.
    private func refused(_ refusal: PictureAnswer.Refusal, _ reason: String) -> PictureAnswer {
      reasons.withLock { reasons in
        if reasons.count >= PictureMaker.mostReasons { reasons = [:] }
        reasons[reason] = refusal
      }
      return .refused(refusal, reason)
    }

    /// The time limit has passed before the picture had a place.
    private struct Overloaded: Error {}

    /// Runs `body`, and cancels it at the time limit.
    private func limited(
      _ place: PictureQuery, _ body: @escaping @Sendable () async throws -> EncodedPicture
    ) async throws -> EncodedPicture {
      try await withThrowingTaskGroup(of: EncodedPicture.self) { group in
        group.addTask(operation: body)
        group.addTask { [places, seconds = rules.seconds] in
          try await Task.sleep(for: .seconds(seconds))
          if places.has(place) { throw LoadError.timedOut }
          throw Overloaded()
        }
        defer { group.cancelAll() }
        guard let first = try await group.next() else { throw LoadError.timedOut }
        return first
      }
    }

    private static func refusal(_ error: LoadError) -> PictureAnswer.Refusal {
      switch error {
      case .status(404), .status(410): .notFound
      case .timedOut: .timedOut
      case .forbidden: .forbidden
      case .tooLarge: .noPicture
      default: .originFailed
      }
    }

    private static func refusal(_ error: ImageError) -> PictureAnswer.Refusal {
      switch error {
      case .unsupportedFormat, .truncated, .corrupt, .tooLarge, .tookTooLong, .decoderDied: .noPicture
      case .outOfMemory: .overloaded
      default: .failed
      }
    }
  }
#endif
