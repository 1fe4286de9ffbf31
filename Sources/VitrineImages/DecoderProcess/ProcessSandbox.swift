import CDecoderProcess

/// The sandbox that a decoder process enters, as far as this system has one.
package enum ProcessSandbox {
  /// Whether the sandbox limits the system calls: on Linux with x86-64 or ARM64 processors, except in builds with a
  /// sanitizer.
  package static var isThere: Bool { vitrine_sandbox_filters_calls() }

  /// Whether the sandbox also hides the contents of files outside the folders of libraries and fonts.
  package static var hidesFiles: Bool { vitrine_sandbox_hides_files() }
}
