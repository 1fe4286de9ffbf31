DecoderFaults.run(CommandLine.arguments)
