import FuzzSupport
import Glibc

@testable import CacheCtlBase
@testable import CacheCtlTool

/// The words of a command line, each ended by a zero byte, the name of the command first. If the first word is no
/// command, its first byte chooses one.
@_cdecl("LLVMFuzzerTestOneInput")
public func testOneLine(_ start: UnsafePointer<UInt8>?, _ byteCount: Int) -> CInt {
  var input = FuzzInput(start, byteCount)
  let words = input.rest().split(separator: 0, maxSplits: 64, omittingEmptySubsequences: false).map { Array($0) }
  guard let name = words.first else { return 0 }
  let named = Tool.commands.first { $0.specification.name.utf8.elementsEqual(name) }
  let command = named ?? Tool.commands[Int(name.first ?? 0) % Tool.commands.count]
  CommandLineClaims(command: command).check(Array(words.dropFirst()))
  for word in words { WordClaims.check(word) }
  return 0
}

@_cdecl("LLVMFuzzerInitialize")
public func initializeArguments() -> CInt {
  Preparation.run { ArgumentSeeds.all() }
  // `put` without FILE reads stdin.
  let nothing = open("/dev/null", O_RDONLY)
  dup2(nothing, STDIN_FILENO)
  close(nothing)
  return 0
}
