import Glibc

// A process with a store, driven line by line: what tests of several processes need. Each line of the input is a
// command and is answered by one line; `fork` is answered by the child, too.
//
//   open PATH [readonly] [copied] [wait=MS] [budget=BYTES]    put KEY VALUE [synced]    puts KEY COUNT BYTES    get KEY    remove KEY
//   has KEY COUNT BYTES    version KEY    flush  checkpoint  refresh  verify  close    write SECONDS KEYS    follow SECONDS KEYS PAUSE-MS
//   fork    spare DESCRIPTORS    user ID
//
// With arguments it is a program of its own: `stress` (``StressCommand``).

signal(SIGPIPE, SIG_DFL)
if CommandLine.arguments.dropFirst().first == "stress" {
  exit(StressCommand.run(Array(CommandLine.arguments.dropFirst(2))))
}
let session = Session()
while let line = readLine() {
  emit(session.answer(line.split(separator: " ").map(String.init)))
}
