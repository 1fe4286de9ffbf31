import FuzzSupport
import Glibc

@testable import CacheCtlBase
@testable import CacheCtlKit
@testable import CacheCtlTool
@testable import Vitrine

/// The claims about every command line. It gives a usage error, or arguments that stay the same when they are written
/// and parsed again. The command itself succeeds or throws one of its own errors.
struct CommandLineClaims {
  let command: any CacheCtlBase.Command.Type

  private var specification: CommandSpecification { command.specification }

  func check(_ words: [[UInt8]]) {
    let arguments: Arguments
    do throws(UsageError) {
      arguments = try Arguments(words, for: specification)
    } catch {
      claim(error.command == specification.name && error.report.hasSuffix("\n"), "a usage error: \(error)")
      return
    }
    if arguments.wantsHelp { return }
    claim(
      arguments.positionals.count <= specification.positionals.count
        || specification.positionals.last?.isRepeatable == true, "a word too many")
    for (index, positional) in specification.positionals.enumerated() where positional.isRequired {
      claim(arguments.positional(index) != nil, "\(positional.name) is missing")
    }
    checkWrittenAgain(arguments)
    readValues(arguments)
    run(arguments)
  }

  /// Options with their values after `=`, then the other words after `--`. `value` returns the value to write.
  private func words(
    _ arguments: Arguments, positionals: [[UInt8]], value: (Option, [UInt8]) -> [UInt8] = { $1 }
  ) -> [[UInt8]] {
    var words: [[UInt8]] = []
    for option in specification.options {
      for word in arguments.values(option) {
        let ending = option.valueName == nil ? [] : Array("=".utf8) + value(option, word)
        words.append(Array("--\(option.name)".utf8) + ending)
      }
    }
    return words + [Array("--".utf8)] + positionals
  }

  private func checkWrittenAgain(_ arguments: Arguments) {
    let again = always("a line written again") {
      try Arguments(words(arguments, positionals: arguments.positionals), for: specification)
    }
    claim(again.positionals == arguments.positionals && !again.wantsHelp, "other words once they are written")
    for option in specification.options {
      claim(again.values(option) == arguments.values(option), "--\(option.name) is another once it is written")
      claim(again.has(option) == arguments.has(option), "--\(option.name) is there or not")
    }
  }

  /// Reads each value as every type that a command could read it as.
  private func readValues(_ arguments: Arguments) {
    for option in specification.options where option.valueName != nil {
      WordClaims.check(arguments.value(option) ?? [])
      if let size = try? arguments.size(option) { claim(size >= 0, "a size of \(size)") }
      if let count = try? arguments.count(option) { claim(count >= 0, "a count of \(count)") }
      if let moment = try? arguments.expiration(option, nowMilliseconds: 1 << 40) {
        claim(moment >= 1 << 40, "an expiry before now")
      }
      if let layout = try? arguments.bitmapLayout(option) { claim(layout.byteCount > 0, "a layout of nothing") }
      if let style = try? arguments.style(option) {
        claim(style.name.utf8.elementsEqual(arguments.value(option)!), "a style")
      }
      if let type = try? arguments.contentType(option) {
        claim(EntryMetadata.contentType(in: EntryMetadata.bytes(contentType: type)) == type, "a content type is lost")
      }
      _ = try? arguments.policy(option)
    }
  }

  /// Runs the command without a store. Paths are replaced, so that no command makes or reads a file of that name.
  private func run(_ arguments: Arguments) {
    guard !["bench", "crashtest", "replay"].contains(specification.name) else { return }
    let positionals = zip(specification.positionals, arguments.positionals).map { positional, word in
      switch positional.name {
      case "STORE", "FOLDER": Array("/dev/null/store".utf8)
      case "FILE": Array("/dev/null".utf8)
      default: word
      }
    }
    do {
      let words = words(arguments, positionals: positionals) { option, word in
        ["FILE", "FOLDER", "PATH"].contains(option.valueName) ? Array("/dev/null".utf8) : word
      }
      let safe = try Arguments(words, for: specification)
      let status = try command.run(safe, Output(descriptor: CommandLineClaims.nothing))
      claim(specification.name == "help" && status == .done, "\(specification.name) without a store is done")
    } catch {
      claim(error is UsageError || error is Failure || error is StoreError || error is SystemError, "\(error)")
    }
  }

  private static let nothing = open("/dev/null", O_WRONLY)
}
