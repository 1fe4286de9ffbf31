#if os(Linux)
  /// The loader of this system: ``CurlLoader`` on Linux, ``URLSessionLoader`` elsewhere.
  public typealias HTTPLoader = CurlLoader
#else
  /// The loader of this system: ``CurlLoader`` on Linux, ``URLSessionLoader`` elsewhere.
  public typealias HTTPLoader = URLSessionLoader
#endif
