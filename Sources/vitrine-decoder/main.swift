// The program behind `ProcessDecoder`: decodes what the process that started it sends, until that is gone.
#if Images
  import VitrineImages

  DecoderWorker.run(CommandLine.arguments)
#else
  print("vitrine-decoder was built without the trait Images")
#endif
