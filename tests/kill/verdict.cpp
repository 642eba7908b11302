#include "tests/kill/verdict.hpp"

#include <algorithm>
#include <cstddef>
#include <map>
#include <utility>

#include "allm/serialize.hpp"

#include "tests/kill/agent.hpp"

namespace allm::kill_matrix {
namespace {

int count_of(const std::map<std::string, int>& counts, const std::string& name) {
  const auto found = counts.find(name);
  return found == counts.end() ? 0 : found->second;
}

class Judge {
 public:
  Judge(const History& history, const Session& undisturbed) : history_(history), undisturbed_(undisturbed) {}

  Verdict judge() {
    for (const Effect& effect : history_.effects) check_effect(effect);
    for (const RunCall& call : run_calls()) check_call(call);
    for (std::size_t life = 0; life < history_.after_lives.size(); ++life) check_runs_are_recorded(life);
    for (const auto& [text, count] : history_.at_end.responses) {
      if (count > 1) duplicate("the response " + text + " is recorded twice");
    }
    check_keys();
    check_session();
    return std::move(verdict_);
  }

 private:
  // What was recorded when a life ended is not done again in a later one; what a life has told is recorded.
  void check_effect(const Effect& effect) {
    const std::string name = effect.what + " " + effect.key + " " + effect.subject;
    for (std::size_t life = 0; life < history_.after_lives.size(); ++life) {
      const Records& records = history_.after_lives[life];
      if (effect.life > static_cast<int>(life)) {
        const bool is_paid_again = effect.what == "model" && records.responses.contains(effect.subject);
        const bool is_run_again = effect.what == "run" && records.finished.contains(effect.subject);
        if (is_paid_again) return duplicate("the recorded response " + effect.subject + " was paid again");
        if (is_run_again) return duplicate("the finished call " + effect.subject + " ran again");
      } else if (!is_kept(effect, records)) {
        return lose(name + " of life " + std::to_string(effect.life) + " is not recorded after life " +
                    std::to_string(life));
      }
    }
    if (!is_kept(effect, history_.at_end)) lose(name + " is not recorded at the end");
  }

  static bool is_kept(const Effect& effect, const Records& records) {
    if (effect.what == "turn") return records.stored.version >= std::stoll(effect.subject);
    if (effect.what != "told") return true;
    return (effect.key == "response" ? records.responses : records.finished).contains(effect.subject);
  }

  // How often the call ran in lives up to this one.
  int runs(const std::string& call, std::size_t last_life) const {
    return static_cast<int>(std::ranges::count_if(history_.effects, [&](const Effect& effect) {
      return effect.what == "run" && effect.subject == call && effect.life <= static_cast<int>(last_life);
    }));
  }
  int runs(const std::string& call) const { return runs(call, history_.after_lives.size()); }

  void check_call(const RunCall& call) {
    const Records& end = history_.at_end;
    const int started = std::max(count_of(end.dispatched, call.id), runs(call.id));
    if (call.on_interrupted != OnInterrupted::retry) {
      const bool asks = call.on_interrupted == OnInterrupted::ask;
      const int allowed = 1 + (asks ? count_of(end.allowed, call.id) : 0);
      if (started > allowed) duplicate("the call " + call.id + " was started " + std::to_string(started) + " times");
    }
    if (count_of(end.finished, call.id) > 1) duplicate("the call " + call.id + " has two outcomes");
    if (runs(call.id) == 0 && !was_interrupted(call.id)) lose("the call " + call.id + " never ran");
  }

  void check_runs_are_recorded(std::size_t life) {
    for (const RunCall& call : run_calls()) {
      if (runs(call.id, life) <= count_of(history_.after_lives[life].dispatched, call.id)) continue;
      lose("the call " + call.id + " ran in life " + std::to_string(life) + " and it is not recorded that it started");
    }
  }

  // The key of a call is the same whenever it runs, and that of no other call.
  void check_keys() {
    std::map<std::string, std::string> key_of;
    std::map<std::string, std::string> call_of;
    for (const Effect& effect : history_.effects) {
      if (effect.what != "run") continue;
      const bool is_same = key_of.emplace(effect.subject, effect.key).first->second == effect.key;
      const bool is_its_own = call_of.emplace(effect.key, effect.subject).first->second == effect.subject;
      if (effect.key.empty() || !is_same || !is_its_own) {
        duplicate("the call " + effect.subject + " ran with the wrong key '" + effect.key + "'");
      }
    }
  }

  // Whether the call was running when a life ended.
  bool was_interrupted(const std::string& call) const {
    return std::ranges::any_of(history_.after_lives, [&](const Records& records) {
      return records.dispatched.contains(call) && !records.finished.contains(call);
    });
  }

  // Whether the message says that a call was interrupted, and may say so.
  bool is_excepted(const Message& message) const {
    const std::string id = message.tool_call_id.value_or("");
    const bool may_fail = std::ranges::any_of(run_calls(), [&id](const RunCall& call) {
      return call.id == id && call.on_interrupted == OnInterrupted::fail;
    });
    return may_fail && was_interrupted(id) && message.text().find("may have had effects") != std::string::npos;
  }

  // The session with the undisturbed results of interrupted calls.
  void check_session() {
    Session session = history_.at_end.stored.session;
    const MessageList& wanted = undisturbed_.thread.messages;
    std::vector<Message> messages(session.thread.messages.begin(), session.thread.messages.end());
    for (std::size_t i = 0; i < std::min(messages.size(), wanted.size()); ++i) {
      if (is_excepted(messages[i]) && wanted[i].tool_call_id == messages[i].tool_call_id) messages[i] = wanted[i];
    }
    session.thread.messages = std::move(messages);
    if (comparable(session) == comparable(undisturbed_)) return;
    lose("the session differs from that of an undisturbed run:\n" + comparable(session) + "\n" +
         comparable(undisturbed_));
  }

  void duplicate(std::string what) { verdict_.duplicates.push_back(std::move(what)); }
  void lose(std::string what) { verdict_.losses.push_back(std::move(what)); }

  const History& history_;
  const Session& undisturbed_;
  Verdict verdict_;
};

}  // namespace

Verdict judge(const History& history, const Session& undisturbed) { return Judge(history, undisturbed).judge(); }

std::string comparable(const Session& session) {
  Session same = session;
  same.id.reset();
  return to_json(same).value();
}

}  // namespace allm::kill_matrix
