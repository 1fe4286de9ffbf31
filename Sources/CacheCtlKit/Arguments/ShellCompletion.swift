/// Completion of `cachectl` in shells, from the specifications of the commands: commands, their options, and the values
/// of options that have a fixed set. Other words are completed as files.
public enum ShellCompletion: String, CaseIterable, Sendable {
  case bash, zsh, fish

  /// The script that the shell loads.
  public func script(for commands: [CommandSpecification]) -> String {
    switch self {
    case .bash: Self.bash(commands)
    case .zsh: Self.zsh(commands)
    case .fish: Self.fish(commands)
    }
  }

  private static let header = "# Completion for cachectl, made by 'cachectl completion'.\n"

  private static func bash(_ commands: [CommandSpecification]) -> String {
    let names = commands.map(\.name)
    var values = ""
    var options = ""
    for command in commands {
      for option in command.options {
        guard option.valueName != nil else { continue }
        let words = option.choices.isEmpty ? "" : "COMPREPLY=($(compgen -W '\(joined(option.choices))' -- \"$word\")); "
        values += "    \(command.name):--\(option.name)) \(words)return ;;\n"
      }
      options += "    \(command.name)) options='\(joined(command.options.map { "--" + $0.name } + ["--help"]))' ;;\n"
    }
    return header + """
      _cachectl() {
        local word=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD - 1]} command=${COMP_WORDS[1]} options=
        COMPREPLY=()
        if ((COMP_CWORD == 1)); then
          COMPREPLY=($(compgen -W '\(joined(names + ["--help", "--version"]))' -- "$word"))
          return
        fi
        case $command:$previous in
          help:help) COMPREPLY=($(compgen -W '\(joined(names))' -- "$word")); return ;;
          completion:completion) COMPREPLY=($(compgen -W '\(joined(allCases.map(\.rawValue)))' -- "$word")); return ;;
      \(values)  esac
        case $command in
      \(options)  esac
        [[ $word == -* ]] && COMPREPLY=($(compgen -W "$options" -- "$word"))
      }
      complete -o default -F _cachectl cachectl

      """
  }

  private static func zsh(_ commands: [CommandSpecification]) -> String {
    let list = commands.map { "    " + quoted("\($0.name):\($0.summary)") + "\n" }.joined()
    var cases = ""
    for command in commands {
      cases += "    \(command.name))\n      _arguments -s"
      for option in command.options {
        var text = (option.isRepeatable ? "*" : "") + "--\(option.name)[\(zshEscaped(option.summary))]"
        if let name = option.valueName {
          text += ":\(zshEscaped(name)):" + (option.choices.isEmpty ? "_files" : "(\(joined(option.choices)))")
        }
        cases += " \\\n        " + quoted(text)
      }
      let rest =
        switch command.name {
        case "help": "(\(joined(commands.map(\.name))))"
        case "completion": "(\(joined(allCases.map(\.rawValue))))"
        default: "_files"
        }
      cases += " \\\n        '--help[print help]' \\\n        " + quoted("*: :\(rest)") + "\n      ;;\n"
    }
    return "#compdef cachectl\n" + header + """
      _cachectl() {
        local -a commands
        commands=(
      \(list)  )
        if ((CURRENT == 2)); then
          _describe -t commands command commands
          return
        fi
        shift words
        ((CURRENT--))
        case $words[1] in
      \(cases)  esac
      }
      if [[ $zsh_eval_context[-1] == loadautofunc ]]; then
        _cachectl "$@"
      else
        compdef _cachectl cachectl
      fi

      """
  }

  private static func fish(_ commands: [CommandSpecification]) -> String {
    let names = commands.map(\.name)
    var script = header
    for command in commands {
      script +=
        "complete -c cachectl -n __fish_use_subcommand -f -a \(command.name) -d \(fishQuoted(command.summary))\n"
    }
    for command in commands {
      let condition = "-n '__fish_seen_subcommand_from \(command.name)'"
      for option in command.options {
        script += "complete -c cachectl \(condition) -l \(option.name) -d \(fishQuoted(option.summary))"
        if option.valueName != nil {
          script += option.choices.isEmpty ? " -r" : " -x -a \(fishQuoted(joined(option.choices)))"
        }
        script += "\n"
      }
    }
    script += "complete -c cachectl -n '__fish_seen_subcommand_from help' -f -a \(fishQuoted(joined(names)))\n"
    let shells = joined(allCases.map(\.rawValue))
    return script + "complete -c cachectl -n '__fish_seen_subcommand_from completion' -f -a \(fishQuoted(shells))\n"
  }

  private static func joined(_ words: [String]) -> String { words.joined(separator: " ") }

  /// A word in single quotes for bash and zsh.
  private static func quoted(_ text: String) -> String { "'" + text.replacing("'", with: "'\\''") + "'" }

  private static func fishQuoted(_ text: String) -> String {
    "'" + text.replacing("\\", with: "\\\\").replacing("'", with: "\\'") + "'"
  }

  /// The text of an option's explanation, in which zsh would take brackets and colons for its own.
  private static func zshEscaped(_ text: String) -> String {
    text.replacing("\\", with: "\\\\").replacing(":", with: "\\:").replacing("[", with: "\\[").replacing(
      "]", with: "\\]")
  }
}

extension Option {
  /// The words that the value may be, if the help names a fixed set.
  var choices: [String] {
    guard let valueName, valueName.contains("|") else { return [] }
    return valueName.split(separator: "|").map(String.init)
  }
}
