#if Server
  import CacheCtlKit
  import Glibc
  import Vitrine
  import VitrineServer

  enum ServeCommand: Command {
    private static let listen = Option(
      "listen", value: "ADDRESS", isRepeatable: true,
      "HOST:PORT, [IPv6]:PORT, or a port of this machine; *:PORT for all addresses (127.0.0.1:11211, unless --http or "
        + "--unix is given)")
    private static let unix = Option(
      "unix", value: "PATH", isRepeatable: true, "a socket at PATH, for this machine only")
    private static let unixMode = Option(
      "unix-mode", value: "MODE", "the permissions of sockets at a PATH in octal (700)")
    private static let threads = Option(
      "threads", value: "N", "event loops, each with a thread (one for each processor)")
    private static let connections = Option(
      "max-connections", value: "N", "connections at a time; others are told so and closed (1024)")
    private static let largest = Option("max-value", value: "SIZE", "the longest value that clients may store (64MiB)")
    private static let idle = Option(
      "idle", value: "SECONDS", "close connections without requests after this time (never; HTTP: 60 at most)")
    private static let stalled = Option(
      "stalled", value: "SECONDS", "close clients that take no answer or do not end a request after this time (30)")
    private static let auth = Option(
      "auth", value: "FILE", "lines of NAME:PASSWORD, of which clients must send one first")
    private static let noFlush = Option("no-flush", "refuse flush_all")
    private static let http = Option(
      "http", value: "ADDRESS", isRepeatable: true,
      "serve HTTP at an address, as of --listen, or at a socket of the file system: unix:PATH")
    private static let readOnly = Option("read-only", "refuse all changes by clients")
    private static let log = Option(
      "log", value: "FILE", "append a line for each HTTP request and event; - for standard output")

    static let specification = CommandSpecification(
      name: "serve", summary: "serve a store to others by the memcached protocol and HTTP",
      positionals: [.required("STORE")],
      options: [
        listen, unix, unixMode, http, threads, connections, largest, idle, stalled, auth, noFlush, readOnly, log,
      ] + PictureServing.options + [.budget, .entries, .keepFree, .styleBudget, .policy, .wait, .reads],
      notes: [
        "Clients, proxies and libraries for memcached work unchanged. A key is a URL in the style 'original'; text "
          + "behind the last '#' names another style. Values are sent from the mapped segments without a copy. Values "
          + "survive a restart of the server, also after SIGKILL, until they expire or are evicted.",
        "A missing store is made. Budgets and policy are kept in it, as with put. The server has the store for writing "
          + "as long as it runs; stat, ls and other commands that read work beside it.",
        "With --http, a value is at /v1/STYLE/URL, both percent-encoded, for GET, HEAD, PUT and DELETE. /status is a "
          + "page for people, /metrics has numbers for Prometheus, and /health answers 200 or 503.",
        "SIGTERM and SIGINT end the server: it closes its connections and the store, and exits with status 0. SIGHUP "
          + "opens the file of --log anew.",
        "Sockets of systemd (LISTEN_FDS) are used beside those of the options, and in place of the default address. "
          + "One with the name 'http' is for HTTP. systemd is told when the server is ready (NOTIFY_SOCKET).",
        "Without --auth, each program that reaches an address may read, change and remove all entries. There is no "
          + "encryption; put a proxy with TLS in front of other addresses than this machine's.",
      ] + PictureServing.notes,
      examples: [
        .init("cachectl serve photos.cache", "at 127.0.0.1:11211, for programs on this machine"),
        .init("cachectl serve photos.cache --unix /run/photos.sock --budget 20GB", "at a socket of the file system"),
        .init("cachectl serve photos.cache --http 8080 --listen 11211 --log serve.log", "also by HTTP"),
        .init("cachectl serve photos.cache --http unix:/run/photos.sock --unix-mode 770", "by HTTP, for a proxy here"),
        .init("cachectl serve photos.cache --listen '*:11211' --auth users --threads 4", "for other machines"),
      ] + PictureServing.examples)

    static func run(_ arguments: Arguments, _ output: Output) throws -> ExitStatus {
      var serverOptions = try options(arguments)
      let storeOptions = try arguments.storeOptions()
      let pictures = try PictureServing(arguments, isReadOnly: serverOptions.isReadOnly)
      DescriptorLimit.raise()
      // Before the store starts its threads, which inherit the mask.
      let signals = TerminationSignals.block(withHangup: arguments.has(log))
      let log = try log(arguments)
      serverOptions.log = log
      // After the last line of the server.
      defer { log?.close() }
      return try Stores.write(arguments, storeOptions) { store in
        let maker = pictures?.maker(store)
        serverOptions.pictures = maker
        let server: CacheServer
        do throws(ServerError) {
          server = try CacheServer(store, serverOptions)
        } catch {
          if case .invalidOption(let reason) = error { throw arguments.fail(reason) }
          throw Failure(error.description)
        }
        defer {
          server.stop()
          maker?.finish()
        }
        let hasGivenSockets = !(serverOptions.inheritedSockets + serverOptions.inheritedWebSockets).isEmpty
        let places =
          server.addresses.map(\.description) + server.webAddresses.map(webPlace)
          + (hasGivenSockets ? ["given sockets"] : [])
        let budget = Quantity.bytes(store.byteBudget)
        // A full disk behind the output must not keep the server from serving.
        try? output.write("serving \(store.path) at \(places.joined(separator: ", ")), with a budget of \(budget)\n")
        try? output.flush()
        ServiceManager.notifyReady()
        signals.wait { log?.reopen() }
        ServiceManager.notifyStopping()
        return .done
      }
    }

    private static func options(_ arguments: Arguments) throws -> ServerOptions {
      var options = ServerOptions()
      (options.inheritedSockets, options.inheritedWebSockets) = ServiceManager.inheritedSockets()
      let mode = try arguments.value(unixMode).map { word -> UInt16 in
        guard let mode = UInt16(String(decoding: word, as: UTF8.self), radix: 8), mode <= 0o777 else {
          throw arguments.fail("--unix-mode: '\(printable(word))' is not an octal number up to 777")
        }
        return mode
      }
      var addresses: [ServerAddress] = []
      for word in arguments.values(listen) {
        addresses.append(try address(word, "--listen", port: 11211, arguments))
      }
      for word in arguments.values(http) {
        options.webAddresses.append(
          try word.starts(with: unixPrefix.utf8)
            ? .unix(path: arguments.text(Array(word.dropFirst(unixPrefix.utf8.count)), "--http"), mode: mode ?? 0o700)
            : address(word, "--http", port: 8080, arguments))
      }
      for word in arguments.values(unix) {
        addresses.append(.unix(path: try arguments.text(word, "--unix"), mode: mode ?? 0o700))
      }
      if mode != nil, !(addresses + options.webAddresses).contains(where: isPath) {
        throw arguments.fail("--unix-mode needs --unix or --http unix:PATH")
      }
      let given = options.inheritedSockets + options.inheritedWebSockets
      if !addresses.isEmpty || !options.webAddresses.isEmpty || !given.isEmpty { options.addresses = addresses }
      if let count = try arguments.count(threads) {
        if count == 0 { throw arguments.fail("--threads is 1 or more") }
        options.threadCount = count
      }
      if let count = try arguments.count(connections) { options.maximumConnections = count }
      if let size = try arguments.size(largest) { options.largestValue = size }
      if let seconds = try arguments.count(idle) { options.idleMilliseconds = try milliseconds(seconds, arguments) }
      if let seconds = try arguments.count(stalled) {
        options.stalledMilliseconds = try milliseconds(seconds, arguments)
      }
      options.allowsFlush = !arguments.has(noFlush)
      options.isReadOnly = arguments.has(readOnly)
      if let file = arguments.value(auth) { options.credentials = try credentials(file, arguments) }
      return options
    }

    /// The prefix of a value of `--http` that names a socket of the file system.
    private static let unixPrefix = "unix:"

    private static func isPath(_ address: ServerAddress) -> Bool {
      if case .unix = address { true } else { false }
    }

    /// The address of a socket of the file system has the form that nginx takes.
    private static func webPlace(_ address: ServerAddress) -> String {
      "http://\(isPath(address) ? unixPrefix : "")\(address)"
    }

    private static func address(
      _ word: Arguments.Word, _ option: String, port: Int, _ arguments: Arguments
    ) throws -> ServerAddress {
      guard let address = ServerAddress(tcp: try arguments.text(word, option)) else {
        throw arguments.fail(
          "\(option): '\(printable(word))' is not an address; try 127.0.0.1:\(port), [::1]:\(port) or \(port)")
      }
      return address
    }

    private static func log(_ arguments: Arguments) throws -> ServerLog? {
      guard let word = arguments.value(log) else { return nil }
      let path = try arguments.text(word, "--log")
      do throws(ServerError) {
        return try ServerLog(path: path == "-" ? nil : path)
      } catch { throw Failure(error.description) }
    }

    private static func milliseconds(_ seconds: Int, _ arguments: Arguments) throws -> Int {
      guard seconds <= 1_000_000_000 else { throw arguments.fail("\(seconds) seconds are too many") }
      return seconds * 1000
    }

    private static func credentials(_ file: Arguments.Word, _ arguments: Arguments) throws -> Credentials {
      let path = try arguments.text(file, "--auth")
      guard let credentials = try text(of: path).flatMap({ Credentials(file: $0) }) else {
        throw Failure("\(path): each line must be NAME:PASSWORD")
      }
      return credentials
    }

    /// Returns nil for a file that is no text of a reasonable length.
    private static func text(of path: String) throws -> String? {
      try Descriptor.open(Array(path.utf8), O_RDONLY).readAll(limit: 1 << 20).flatMap {
        String(validating: $0, as: UTF8.self)
      }
    }
  }
#endif
