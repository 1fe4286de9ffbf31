import CVitrine

// The sizes are those of version 0.1 and never change, not even if a struct grows.

extension vitrine_options: SizedStruct {
  static var firstSize: Int { 96 }
}

extension vitrine_put_options: SizedStruct {
  static var firstSize: Int { 88 }
}

extension vitrine_condition: SizedStruct {
  static var firstSize: Int { 32 }
}

extension vitrine_value_info: SizedStruct {
  static var firstSize: Int { 96 }
}

extension vitrine_entry: SizedStruct {
  static var firstSize: Int { 144 }
}

extension vitrine_compaction: SizedStruct {
  static var firstSize: Int { 56 }
}

extension vitrine_verification: SizedStruct {
  static var firstSize: Int { 40 }
}

extension vitrine_problem: SizedStruct {
  static var firstSize: Int { 72 }
}

extension vitrine_stat: SizedStruct {
  static var firstSize: Int { 216 }
}
