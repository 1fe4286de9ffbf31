import Testing
import Vitrine
import VitrineSimulation

/// A disk with an open, durable folder `/d`.
func diskWithFolder(_ options: SimulatedDisk.Options = .init()) throws -> (SimulatedDisk, any Directory) {
  let disk = SimulatedDisk(options)
  let directory = try disk.openDirectory("/d", create: true)
  try disk.syncName(ofFolder: "/d")
  return (disk, directory)
}

/// A file that is durable in all respects.
func durableFile(_ name: String, _ bytes: [UInt8], in directory: any Directory) throws -> any File {
  let file = try directory.openFile(name, .create)
  try file.write(bytes, at: 0)
  try file.sync()
  try directory.sync()
  return file
}

func filled(_ byte: UInt8, _ count: Int) -> [UInt8] { [UInt8](repeating: byte, count: count) }

/// Stores through a mapping, announced as by the engine.
func store(_ bytes: [UInt8], at offset: Int, _ mapping: Mapping, _ file: any File) {
  let range = offset..<offset + bytes.count
  file.willStore(range)
  bytes.withUnsafeBytes { (mapping.start + offset).copyMemory(from: $0.baseAddress!, byteCount: $0.count) }
  file.didStore(range)
}

/// The errno that the body fails with; nil if it succeeds.
func code(_ body: () throws -> Void) -> Int32? {
  do {
    try body()
    return nil
  } catch { return (error as? SystemError)?.code }
}
