#if Server
  import CacheCtlKit
  import Vitrine
  import VitrineServer
  #if Images
    import CacheCtlPictures
    import VitrineImages
  #endif

  /// The options of `serve` for pictures that are made on request. A build without the trait `Images` has none.
  struct PictureServing {
    #if Images
      private static let host = Option(
        "image-host", value: "HOST", isRepeatable: true,
        "make pictures of this host at /image/STYLE/URL; HOST:PORT for a port other than 80 and 443 (none)")
      private static let style = Option(
        "image-style", value: "STYLE", isRepeatable: true,
        "a style in which pictures are made; any: every style of at most \(PictureMaker.mostSide) pixels a side")
      private static let format = Option(
        "image-format", value: "jpeg|webp", "the format of pictures; with jpeg, transparent pictures are PNG (jpeg)")
      private static let mayBePrivate = Option(
        "image-private", "also connect to private addresses and to this machine for pictures")
      private static let limit = Option(
        "image-timeout", value: "SECONDS", "the time limit of a picture of /image/ (30)")
      private static let mostAge = Option(
        "image-age", value: "SECONDS", "ask the origin again after this time, or earlier if it says so (86400)")

      static let options = [host, style, format, mayBePrivate, limit, mostAge]
      static let notes = [
        "With --image-host, GET /image/STYLE/URL loads the original of the URL, draws it in the style, keeps both, and "
          + "sends the picture. The URL and its redirects must be of the given hosts, whose addresses must be public. "
          + "Pictures have keys of their own, /image/URL, so no other entry is changed. Each is decoded in another "
          + "process."
      ]
      static let examples = [
        CommandSpecification.Example(
          "cachectl serve s.cache --http 8080 --image-host a.example --image-style any",
          "pictures of another server, in every style")
      ]

      private let rules: PictureMaker.Rules
      private let encoder: ImageEncoder

      /// Returns nil if no picture is wanted.
      init?(_ arguments: Arguments, isReadOnly: Bool) throws {
        let hosts = arguments.values(PictureServing.host)
        if hosts.isEmpty {
          let others = [PictureServing.style, PictureServing.format, PictureServing.limit, PictureServing.mostAge]
          if arguments.has(PictureServing.mayBePrivate) || others.contains(where: { !arguments.values($0).isEmpty }) {
            throw arguments.fail("the other options of pictures need --image-host")
          }
          return nil
        }
        if isReadOnly { throw arguments.fail("--image-host stores pictures, and --read-only forbids that") }
        var rules = PictureMaker.Rules(servers: [])
        for word in hosts { rules.servers.formUnion(try PictureServing.servers(word, arguments)) }
        rules.styles = try PictureServing.styles(arguments)
        rules.allowsPrivateAddresses = arguments.has(PictureServing.mayBePrivate)
        rules.seconds = try arguments.count(PictureServing.limit) ?? 30
        guard (1...3600).contains(rules.seconds) else { throw arguments.fail("--image-timeout must be 1 to 3600") }
        rules.mostAgeSeconds = try arguments.count(PictureServing.mostAge) ?? rules.mostAgeSeconds
        guard rules.mostAgeSeconds <= 1 << 31 else { throw arguments.fail("--image-age is too long") }
        self.rules = rules
        switch try arguments.value(PictureServing.format).map({ try arguments.text($0, "--image-format") }) {
        case nil, "jpeg": encoder = ImageEncoder()
        case "webp": encoder = ImageEncoder(opaque: .webp(), transparent: .webp())
        case let name?: throw arguments.fail("--image-format: '\(name)' is neither jpeg nor webp")
        }
      }

      /// The servers of a host, as `host:port`.
      private static func servers(_ word: Arguments.Word, _ arguments: Arguments) throws -> [String] {
        let name = try arguments.text(word, "--image-host")
        guard let servers = CurlLoader.servers(name) else {
          throw arguments.fail("--image-host: '\(name)' is neither HOST nor HOST:PORT")
        }
        return servers
      }

      /// The allowed styles; nil for any.
      private static func styles(_ arguments: Arguments) throws -> Set<ImageStyle>? {
        let words = arguments.values(style)
        if words.isEmpty { throw arguments.fail("--image-host needs --image-style, once for each allowed style") }
        if words == [Array("any".utf8)] { return nil }
        let styles = try arguments.imageStyles(style)
        for style in styles {
          guard let size = style.pixelSize, max(size.width, size.height) <= PictureMaker.mostSide else {
            throw arguments.fail(
              "--image-style: '\(style)' must have a size, of at most \(PictureMaker.mostSide) pixels a side")
          }
        }
        return Set(styles)
      }

      func maker(_ store: CacheStore) -> PictureMaker {
        PictureMaker(store, rules, encoder: encoder, decoder: ProcessDecoder.ofThisTool(limits: PictureMaker.limits))
      }
    #else
      static let options: [Option] = []
      static let notes: [String] = []
      static let examples: [CommandSpecification.Example] = []

      init?(_ arguments: Arguments, isReadOnly: Bool) throws { return nil }

      func maker(_ store: CacheStore) -> PictureMaker { PictureMaker() }
    #endif
  }

  #if !Images
    /// Takes the place of the maker in a build without pictures, which makes none.
    struct PictureMaker: PictureMaking {
      func picture(_ query: PictureQuery) async -> PictureAnswer { .refused(.failed, "this build makes no pictures") }
      func finish() {}
    }
  #endif
#endif
