import CacheCtlTool
import Glibc

exit(Tool.run().rawValue)
