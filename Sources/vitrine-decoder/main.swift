// The program behind `ProcessDecoder`: decodes what the process that started it sends, until that is gone.
import VitrineImages

DecoderWorker.run(CommandLine.arguments)
