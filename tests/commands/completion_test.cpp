// Completes command lines in real shells, with the scripts that `allm completion` prints.
#include <filesystem>

#include <gmock/gmock.h>

#include "tests/commands/command_rig.hpp"

namespace allm::testing::completion_test {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::IsSupersetOf;
using ::testing::Not;
using ::testing::UnorderedElementsAre;
using Words = std::vector<std::string>;

// Each would run a command if a script expanded it, or would become several words.
const Words kHostile = {"$(touch hacked)", "`touch hacked`", "x;touch hacked", "quote'd",
                        "quote\"d",        "two words",      "back\\slash",    "*",
                        "~root",           "a&b|c>d",        "{a,b}",          "[x]",
                        "größe",           "!touch",         "-dash",          "a:b=c@d"};

// A folder with a store that has sessions with these ids, and shells that complete in it.
class Completions {
 public:
  Completions() {
    std::ofstream lines(rig_.folder() / "sessions.jsonl");
    for (const std::string& id : kHostile) lines << Json({{"id", id}}).dump() << "\n";
    lines << Json({{"id", "two\nlines"}}).dump() << "\n";
    lines.close();
    EXPECT_EQ(run("allm sessions import sessions.jsonl").status, 0);
    for (const char* shell : {"bash", "zsh", "fish"}) {
      EXPECT_EQ(run("allm completion " + std::string(shell) + " >" + shell + "_script").status, 0);
    }
    write("bash_try", kBashTry);
    write("zsh_setup", kZshSetup);
    write("zsh_try", kZshTry);
  }
  ~Completions() { EXPECT_FALSE(std::filesystem::exists(rig_.folder() / "hacked")) << "a candidate was executed"; }
  Completions(const Completions&) = delete;
  Completions& operator=(const Completions&) = delete;

  static bool has(const std::string& shell) {
    return std::system(("command -v " + shell + " >/dev/null").c_str()) == 0;
  }

  // The candidates, as they are inserted in the line.
  Words bash(const std::string& line) { return candidates("bash --norc --noprofile bash_try", line); }
  // The candidates themselves.
  Words fish(const std::string& line) {
    return candidates(
        "fish --no-config -c 'source fish_script; complete -C \"$(cat line)\" | string replace -r \"\\t.*\" \"\"'",
        line);
  }
  // The candidates, as they are inserted, and then the line after the completion.
  Words zsh(const std::string& line) { return candidates("timeout 120 zsh -f zsh_try", line); }
  // What the shell makes of a line: its words.
  Words words_of(const std::string& shell, const std::string& line) {
    write("words", "words() { printf '%s\\n' \"$@\"; }\nwords " + line + "\n");
    return lines_of(run(shell + " words").output);
  }

 private:
  static constexpr const char* kBashTry = R"SCRIPT(
compopt() { printf 'compopt %s\n' "$*"; }
COMP_WORDBREAKS=$' \t\n"\'@><=;|&(:'
source bash_script
complete -p allm >/dev/null || exit 1
COMP_LINE=$(cat line) COMP_POINT=${#COMP_LINE}
_allm allm
if (( ${#COMPREPLY[@]} )); then printf '%s\n' "${COMPREPLY[@]}"; fi
)SCRIPT";
  static constexpr const char* kZshSetup = R"SCRIPT(
PROMPT=
autoload -U compinit
compinit -u -d ./zcompdump
source zsh_script
zstyle ':completion:*' insert-tab false
compadd() {
  if [[ " ${@[1,(i)(-|--)]} " == *' -'[OAD]' '* ]]; then builtin compadd "$@"; return; fi
  local -a __found
  builtin compadd -A __found "$@"
  if (( $#__found )); then print -rl -- $__found >>candidates; fi
  builtin compadd "$@"
}
report() { print -r -- $BUFFER >>candidates; print 'DO''NE'; }
zle -N report
completed() { print 'COMP''LETED' }
comppostfuncs=(completed)
bindkey '^X' report
bindkey '^I' complete-word
# Lines that come before this would be read by the terminal instead of the editor.
zle-line-init() { print 'REA''DY' }
zle -N zle-line-init
)SCRIPT";
  static constexpr const char* kZshTry = R"SCRIPT(
zmodload zsh/zpty
zpty shell zsh -f -i
zpty -w shell 'source ./zsh_setup'
zpty -r shell output '*READY*'
zpty -n -w shell "$(<line)"$'\t'
zpty -r shell output '*COMPLETED*'
zpty -n -w shell $'\C-x'
zpty -r shell output '*DONE*'
zpty -d shell
cat candidates
rm candidates
)SCRIPT";

  void write(const std::string& name, const std::string& text) const { std::ofstream(rig_.folder() / name) << text; }
  CommandResult run(const std::string& line) const {
    const std::string folder = rig_.folder().string();
    const std::string programs = std::filesystem::path(ALLM_COMMAND).parent_path().string();
    return rig_.run_line("cd " + folder + " && export LC_ALL=C.UTF-8 HOME=" + folder + " ALLM_STORE='" + rig_.store() +
                         "' PATH=" + programs + ":$PATH && " + line);
  }
  Words candidates(const std::string& command, const std::string& line) const {
    write("line", line);
    const CommandResult result = run(command);
    EXPECT_EQ(result.errors, "") << line;
    return lines_of(result.output);
  }

  CommandRig rig_;
};

TEST(BashCompletion, OffersCommandsOptionsAndChoices) {
  Completions shell;
  EXPECT_THAT(shell.bash("allm s"), UnorderedElementsAre("sessions", "scenario", "sandbox"));
  EXPECT_THAT(shell.bash("allm "), IsSupersetOf({"ask", "worker", "completion", "help"}));
  EXPECT_THAT(shell.bash("allm "), Not(Contains("complete"))) << "hidden";
  EXPECT_THAT(shell.bash("allm sessions s"), UnorderedElementsAre("submit", "search", "show"));
  EXPECT_THAT(shell.bash("allm ask --m"), ElementsAre("--model", "--max-turns"));
  EXPECT_THAT(shell.bash("allm ask 'why --not' --m"), ElementsAre("--model", "--max-turns"));
  EXPECT_THAT(shell.bash("allm ask -s --model --m"), ElementsAre("--model", "--max-turns"));
  EXPECT_THAT(shell.bash("allm --v"), ElementsAre("--version"));
  EXPECT_THAT(shell.bash("allm scenario --lane "), ElementsAre("thread", "worker"));
  EXPECT_THAT(shell.bash("allm scenario --lane=w"), ElementsAre("worker"));
  EXPECT_THAT(shell.bash("allm completion "), ElementsAre("bash", "zsh", "fish"));
  EXPECT_THAT(shell.bash("allm help sessions su"), ElementsAre("submit"));
  EXPECT_THAT(shell.bash("allm ask --max-turns "), IsEmpty());
  EXPECT_THAT(shell.bash("allm ask -- --m"), IsEmpty());
  EXPECT_THAT(shell.bash("allm nonsense "), Not(Contains("list")));
}

TEST(BashCompletion, OffersModelsAndFiles) {
  Completions shell;
  EXPECT_THAT(shell.bash("allm ask -m openai:gpt-4.1-m"), ElementsAre("gpt-4.1-mini"))
      << "bash replaces what is after :";
  EXPECT_THAT(shell.bash("allm worker --model=openai:gpt-4.1-m"), ElementsAre("gpt-4.1-mini"));
  EXPECT_THAT(shell.bash("allm ask -m 'openai:gpt-4.1-m"), ElementsAre("openai:gpt-4.1-mini"));
  EXPECT_THAT(shell.bash("allm ask -t "), ElementsAre("compopt -o default"));
  EXPECT_THAT(shell.bash("allm scenario -q x.json "), ElementsAre("compopt -o default"));
}

TEST(BashCompletion, HostileIdsStayOneWordAndAreNotExecuted) {
  Completions shell;
  for (const char* quote : {"", "'", "\""}) {
    const Words found = shell.bash("allm sessions show " + std::string(quote));
    Words inserted;
    for (const std::string& candidate : found) {
      const Words words = shell.words_of("bash", quote + candidate + quote);
      EXPECT_EQ(words.size(), 1U) << candidate;
      inserted.insert(inserted.end(), words.begin(), words.end());
    }
    Words expected = kHostile;
    if (*quote == '"') std::erase(expected, "!touch");
    EXPECT_THAT(inserted, ::testing::UnorderedElementsAreArray(expected));
  }
  EXPECT_THAT(shell.bash("allm sessions show '$(touch"), ElementsAre("$(touch hacked)"));
  EXPECT_THAT(shell.bash("allm sessions show \\$\\(touch"), ElementsAre("\\$\\(touch\\ hacked\\)"));
  EXPECT_THAT(shell.bash("allm sessions show two\\ w"), ElementsAre("two\\ words"));
  EXPECT_THAT(shell.bash("allm ask $(touch hacked) `touch hacked` --m"), ElementsAre("--model", "--max-turns"));
}

TEST(ZshCompletion, OffersWhatTheDataHas) {
  if (!Completions::has("zsh")) GTEST_SKIP() << "zsh is not installed";
  Completions shell;
  EXPECT_THAT(shell.zsh("allm sessions s"), IsSupersetOf({"submit", "search", "show"}));
  EXPECT_THAT(shell.zsh("allm ask --mo"), ElementsAre("--model", "allm ask --model="));
  EXPECT_THAT(shell.zsh("allm ask -m openai:gpt-4.1-m"), Contains("allm ask -m openai:gpt-4.1-mini "));
  EXPECT_THAT(shell.zsh("allm scenario --lane="), IsSupersetOf({"thread", "worker"}));
  EXPECT_THAT(shell.zsh("allm scenario zsh_sc"), Contains("allm scenario zsh_script "));
  EXPECT_THAT(shell.zsh("allm completion f"), ElementsAre("fish", "allm completion fish "));
}

TEST(ZshCompletion, HostileIdsStayOneWordAndAreNotExecuted) {
  if (!Completions::has("zsh")) GTEST_SKIP() << "zsh is not installed";
  Completions shell;
  Words found = shell.zsh("allm sessions show ");
  ASSERT_EQ(found.back(), "allm sessions show ");
  found.pop_back();
  Words inserted;
  for (const std::string& candidate : found) {
    const Words words = shell.words_of("zsh -f", candidate);
    EXPECT_EQ(words.size(), 1U) << candidate;
    inserted.insert(inserted.end(), words.begin(), words.end());
  }
  EXPECT_THAT(inserted, ::testing::UnorderedElementsAreArray(kHostile));
  EXPECT_THAT(shell.zsh("allm sessions show two"), Contains("allm sessions show two\\ words "));
  const Words line = shell.zsh("allm sessions show \\$");
  ASSERT_EQ(line.size(), 2U);
  EXPECT_THAT(shell.words_of("zsh -f", line.back()), ElementsAre("allm", "sessions", "show", "$(touch hacked)"));
}

TEST(FishCompletion, OffersWhatTheDataHas) {
  if (!Completions::has("fish")) GTEST_SKIP() << "fish is not installed";
  Completions shell;
  EXPECT_THAT(shell.fish("allm s"), UnorderedElementsAre("sessions", "scenario", "sandbox"));
  EXPECT_THAT(shell.fish("allm sessions s"), UnorderedElementsAre("submit", "search", "show"));
  EXPECT_THAT(shell.fish("allm ask --m"), UnorderedElementsAre("--model", "--max-turns"));
  EXPECT_THAT(shell.fish("allm ask -m openai:gpt-4.1-m"), ElementsAre("openai:gpt-4.1-mini"));
  EXPECT_THAT(shell.fish("allm scenario --lane "), UnorderedElementsAre("thread", "worker"));
  EXPECT_THAT(shell.fish("allm scenario fish_s"), Contains("fish_script"));
  EXPECT_THAT(shell.fish("allm ask --max-turns "), IsEmpty());
}

TEST(FishCompletion, HostileIdsAreNotExecuted) {
  if (!Completions::has("fish")) GTEST_SKIP() << "fish is not installed";
  Completions shell;
  EXPECT_THAT(shell.fish("allm sessions show "), IsSupersetOf(kHostile));
  EXPECT_THAT(shell.fish("allm sessions show '$(to"), Contains("$(touch hacked)"));
}

TEST(CompleteCommand, PrintsCandidatesAndNothingElse) {
  const CommandRig rig;
  EXPECT_THAT(lines_of(rig.run("complete models openai:gpt-4.1-").output),
              ElementsAre("openai:gpt-4.1-mini", "openai:gpt-4.1-nano"));
  const CommandResult sessions = rig.run("complete sessions");
  EXPECT_EQ(sessions.status, 0);
  EXPECT_EQ(sessions.output + sessions.errors, "");
  EXPECT_FALSE(std::filesystem::exists(rig.folder() / "store.db")) << "pressing Tab creates no store";
  const CommandResult unusable = CommandRig("redis://host").run("complete sessions");
  EXPECT_EQ(unusable.status, 1);
  EXPECT_EQ(unusable.output + unusable.errors, "");
}

}  // namespace
}  // namespace allm::testing::completion_test
