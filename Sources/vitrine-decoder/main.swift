// The program behind `ProcessDecoder`: decodes pictures for the process that started it, until that process ends.
import VitrineImages

DecoderWorker.run(CommandLine.arguments)
