import FuzzSupport

/// A sequence of operations, made on a store on the simulated disk and on the explorer's history of it; see
/// ``Operation``. The first byte chooses the budgets.
@_cdecl("LLVMFuzzerTestOneInput")
public func testOneSequence(_ start: UnsafePointer<UInt8>?, _ byteCount: Int) -> CInt {
  var input = FuzzInput(start, byteCount)
  let run = always("the making of a store") { try OperationRun(shape: input.byte()) }
  while !run.isLongEnough, let operation = Operation.next(&input) { run.make(operation, &input) }
  run.end()
  return 0
}

@_cdecl("LLVMFuzzerInitialize")
public func initializeOperations() -> CInt {
  Preparation.run { OperationSeeds.all() }
  return 0
}
