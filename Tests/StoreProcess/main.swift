import Glibc

// A process with a store, driven line by line, for tests of several processes. Each line of the input is a command
// and is answered by one line; `fork` is answered by the child, too.
//
//   open PATH [readonly] [copied] [wait=MS] [budget=BYTES]    close    verify    refresh    flush    checkpoint
//   upkeep    put KEY VALUE [synced]    puts KEY COUNT BYTES    get KEY    has KEY COUNT BYTES
//   left KEY COUNT BYTES    version KEY
//   remove KEY [synced]    clear    evicted    write SECONDS KEYS    follow SECONDS KEYS PAUSE-MS
//   client SOCKET    fill NAME COUNT    hold NAME COUNT    intact    drop    work NUMBER ROUNDS
//   fork    spare DESCRIPTORS    limit BYTES    user ID
//
// With arguments it is a separate program: `stress` (``StressCommand``), `kill` (``KillCommand``).

signal(SIGPIPE, SIG_DFL)
let words = Array(CommandLine.arguments.dropFirst(2))
switch CommandLine.arguments.dropFirst().first {
case "stress": exit(StressCommand.run(words))
case "kill": exit(KillCommand.run(words))
case KillCommand.writer: exit(KillWriter.run(words))
default: break
}
let session = Session()
while let line = readLine() {
  emit(session.answer(line.split(separator: " ").map(String.init)))
}
