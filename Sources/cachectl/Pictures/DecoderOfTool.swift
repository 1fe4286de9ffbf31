import Glibc
import VitrineImages

extension ProcessDecoder {
  private static let word = "decoder-of-pictures"

  /// Returns a decoder whose processes run this program, so that no other file needs to be installed.
  package static func ofThisTool(limits: DecodingLimits) -> ProcessDecoder { ofThisTool(Options(limits: limits)) }

  fileprivate static func ofThisTool(_ options: Options) -> ProcessDecoder {
    // The kernel finds the program of the process by this name, also if its file was replaced.
    ProcessDecoder(executable: "/proc/self/exe", arguments: [word], options: options)
  }

  /// Serves as such a process, and does not return, if the arguments are those of one.
  package static func serveIfAsked() {
    let arguments = CommandLine.arguments
    // The first argument is a number of bytes, so it is not a command.
    guard arguments.count == 3, UInt64(arguments[1]) != nil, arguments[2] == word else { return }
    DecoderWorker.run(Array(arguments.prefix(2)))
  }
}

extension ImageDecoder {
  /// Returns a decoder that draws SVG in a process of this program, and decodes other formats in the calling process.
  package static func ofThisTool(limits: DecodingLimits) -> ImageDecoder {
    var options = ProcessDecoder.Options(limits: limits)
    options.processCount = 1
    return ImageDecoder(limits: limits, formats: [SVGDecoder(ProcessDecoder.ofThisTool(options))])
  }
}
