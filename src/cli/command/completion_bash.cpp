#include <string>
#include <string_view>
#include <vector>

#include "cli/command/completion.hpp"
#include "cli/command/quoting.hpp"

namespace allm::cli {
namespace {

// Candidates are compared and quoted here, never by `compgen -W`, which expands them.
constexpr std::string_view kBashFunctions = R"SCRIPT(
# Sets `words` to the words of $1 as the command would get them, and `open_quote` to the quote that is still open.
_NAME_split()
{
    local line=$1 word= char i begun=
    words=() open_quote=
    for (( i = 0; i < ${#line}; i++ )); do
        char=${line:i:1}
        if [[ $open_quote == "'" ]]; then
            if [[ $char == "'" ]]; then open_quote=; else word+=$char; fi
        elif [[ $char == '\' ]]; then
            (( i += 1 ))
            if [[ $open_quote && ${line:i:1} != [\"\\\$\`] ]]; then word+='\'; fi
            word+=${line:i:1} begun=1
        elif [[ $open_quote && $char == "$open_quote" ]]; then
            open_quote=
        elif [[ ! $open_quote && $char == [\'\"] ]]; then
            open_quote=$char begun=1
        elif [[ ! $open_quote && $char == [[:space:]] ]]; then
            if [[ $begun ]]; then words+=("$word"); fi
            word= begun=
        else
            word+=$char begun=1
        fi
    done
    words+=("$word")
}

# Sets `quoted` to $1 as it must be typed here. Fails if it cannot be typed.
_NAME_quote()
{
    case $open_quote in
        "'")
            quoted=${1//"'"/"'\\''"}
            ;;
        '"')
            # History expansion has no escape inside double quotes.
            if [[ $1 == *'!'* ]]; then return 1; fi
            quoted=${1//'\'/'\\'}
            quoted=${quoted//'"'/'\"'}
            quoted=${quoted//'$'/'\$'}
            quoted=${quoted//'`'/'\`'}
            ;;
        *)
            printf -v quoted %q "$1"
            ;;
    esac
}

# Offers the candidates $3... that begin with $2. The word at the cursor is $1$2.
_NAME_offer()
{
    local lead=$1 prefix=$2 word=$1$2 head= breaks= char candidate quoted
    shift 2
    # Readline replaces only what follows the last of these characters.
    if [[ ! $open_quote ]]; then
        for char in : = @; do
            if [[ $COMP_WORDBREAKS == *"$char"* ]]; then breaks+=$char; fi
        done
        if [[ $breaks && $word == *[$breaks]* ]]; then head=${word%"${word##*[$breaks]}"}; fi
    elif [[ $lead ]]; then
        head=$lead
    fi
    for candidate; do
        if [[ $candidate == "$prefix"* ]]; then
            candidate=$lead$candidate
            if _NAME_quote "${candidate#"$head"}"; then COMPREPLY+=("$quoted"); fi
        fi
    done
}

# Offers values of $kind or $choices that begin with $2. The word at the cursor is $1$2.
_NAME_offer_values()
{
    local -a found=()
    case $kind in
        choices)
            found=("${choices[@]}")
            ;;
        files)
            compopt -o default
            ;;
        directories)
            compopt -o dirnames
            ;;
        commands)
            _NAME_commands "NAME${arguments[*]:+ ${arguments[*]}}"
            found=("${commands[@]}")
            ;;
        models | sessions)
            mapfile -t found < <(command NAME complete "$kind" -- "$2" 2>/dev/null)
            ;;
    esac
    _NAME_offer "$1" "$2" "${found[@]}"
}

_NAME()
{
    local IFS=$' \t\n' path=NAME word open_quote kind option= marked= i=1 last
    local -a words arguments=() commands options choices
    COMPREPLY=()
    _NAME_split "${COMP_LINE:0:COMP_POINT}"
    last=$(( ${#words[@]} - 1 ))
    _NAME_commands "$path"
    while (( i < last )) && [[ " ${commands[*]} " == *" ${words[i]} "* ]]; do
        path+=" ${words[i]}"
        (( i += 1 ))
        _NAME_commands "$path"
    done
    for (( ; i < last; i++ )); do
        word=${words[i]}
        if [[ $option ]]; then
            option=
        elif [[ ! $marked && $word == -- ]]; then
            marked=1
        elif [[ ! $marked && $word == -?* ]]; then
            if _NAME_value "$path" "$word"; then option=$word; fi
        else
            arguments+=("$word")
        fi
    done
    word=${words[last]}
    if [[ $option ]]; then
        _NAME_value "$path" "$option"
        _NAME_offer_values "" "$word"
    elif [[ ! $marked && $word == --*=* ]]; then
        if _NAME_value "$path" "${word%%=*}"; then _NAME_offer_values "${word%%=*}=" "${word#*=}"; fi
    elif [[ ! $marked && $word == -* ]]; then
        _NAME_options "$path"
        _NAME_offer "" "$word" "${options[@]}"
    elif (( ${#commands[@]} )); then
        _NAME_offer "" "$word" "${commands[@]}"
    elif _NAME_argument "$path" "${#arguments[@]}"; then
        _NAME_offer_values "" "$word"
    fi
}

complete -F _NAME NAME
)SCRIPT";

std::string bash_list(const std::vector<std::string>& texts) {
  std::string list = "(";
  for (const std::string& text : texts) list += (list.size() == 1 ? "" : " ") + single_quoted(text);
  return list + ")";
}

std::string bash_kind(const OptionSpec& option) {
  if (!option.choices.empty()) return "kind=choices choices=" + bash_list(option.choices);
  switch (option.completion) {
    case Completion::nothing:
      return "kind=";
    case Completion::files:
      return "kind=files";
    case Completion::directories:
      return "kind=directories";
    case Completion::commands:
      return "kind=commands";
    case Completion::models:
      return "kind=models";
    case Completion::sessions:
      return "kind=sessions";
  }
  return "kind=";
}

// The functions that look things up in the data.
class BashTables {
 public:
  explicit BashTables(const CommandSpec& root) {
    each_command(root, [this](const CommandPath& path) { add(path); });
  }

  std::string text(const std::string& name) const {
    return function("The commands in the command $1.", name + "_commands", "commands=()", "$1", commands_, "") +
           function("The options of the command $1.", name + "_options", "options=()", "$1", options_, "") +
           function("The values of the option $2 of the command $1. Fails if it has none.", name + "_value",
                    "kind=", "$1 $2", values_, "return 1") +
           function("The values of the argument with index $2 of the command $1.", name + "_argument", "kind=", "$1 $2",
                    arguments_, "return 1");
  }

 private:
  static std::string function(const std::string& about, const std::string& name, const std::string& begin,
                              const std::string& subject, const std::string& cases, const std::string& otherwise) {
    return "\n# " + about + "\n_" + name + "()\n{\n    " + begin + "\n    case \"" + subject + "\" in\n" + cases +
           (otherwise.empty() ? "" : "        *) " + otherwise + " ;;\n") + "    esac\n}\n";
  }
  static void add_case(std::string& cases, const std::string& pattern, const std::string& action) {
    cases += "        " + pattern + ") " + action + " ;;\n";
  }

  void add(const CommandPath& path) {
    const CommandSpec& spec = *path.back();
    const std::string command = path_text(path);
    if (!command_names(spec).empty()) {
      add_case(commands_, single_quoted(command), "commands=" + bash_list(command_names(spec)));
    }
    std::vector<std::string> names;
    int position = 0;
    for (const OptionSpec& option : spec.options) {
      std::string pattern;
      if (option.positional()) {
        pattern = single_quoted(command + " " + (option.repeated() ? "" : std::to_string(position++)));
        add_case(arguments_, option.repeated() ? pattern + "*" : pattern, bash_kind(option));
        continue;
      }
      for (const std::string& name : option.each_name()) {
        names.push_back(name);
        pattern += (pattern.empty() ? "" : " | ") + single_quoted(command + " " + name);
      }
      if (!option.flag()) add_case(values_, pattern, bash_kind(option));
    }
    names.emplace_back("-h");
    names.emplace_back("--help");
    if (path.size() == 1) names.emplace_back("--version");
    add_case(options_, single_quoted(command), "options=" + bash_list(names));
  }

  std::string commands_;
  std::string options_;
  std::string values_;
  std::string arguments_;
};

}  // namespace

std::string bash_completion(const CommandSpec& root) {
  std::string functions(kBashFunctions);
  for (std::size_t at = functions.find("NAME"); at != std::string::npos; at = functions.find("NAME", at)) {
    functions.replace(at, 4, root.name);
  }
  return "# Completions of " + root.name + " for bash, made by: " + root.name + " completion bash\n" +
         BashTables(root).text(root.name) + functions;
}

}  // namespace allm::cli
