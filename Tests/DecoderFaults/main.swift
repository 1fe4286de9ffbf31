#if Images
  DecoderFaults.run(CommandLine.arguments)
#endif
