// Processes that compete for sessions of one store. The test program starts itself again as these processes.
#pragma once

#include <string>
#include <sys/types.h>
#include <vector>

#include "allm/fake.hpp"
#include "allm/session.hpp"
#include "allm/tool.hpp"

namespace allm::contest {

// Starts this executable with the arguments.
pid_t start_process(std::vector<std::string> arguments);
// The exit status, or -1 if the process was killed by a signal.
int wait_for_exit(pid_t process);

// Adds a line to the file of effects, with one write, so that lines of several processes do not mix.
void append_line(const std::string& path, const std::string& line);
std::string text_of(const std::string& path);
// How often the file has this line.
int count_lines(const std::string& path, const std::string& line);

// --- Two processes that answer at the same moment: answerer.cpp ---
// `board`: the file that both share; `index`: 0 or 1.
int answer(const std::string& url, const std::string& board, int index, int rounds);

// --- A process that is stopped while it runs a session: stopped_process.cpp ---
struct StoppedRun {
  std::string store = {};  // URL
  std::string session = {};
  std::string lane = {};  // "thread" or "worker"
  // Where it is stopped: "tool" (by somebody else, while its tool runs); "dispatched" (after the commit before the
  // first tools); "start" (between this commit and the start of the first tool, on the thread of the consumer);
  // "finished" (after the commit before the last model call).
  std::string where = {};
};
// The answer of the model to a thread with this many answers of it.
FakeCallScript scripted_answer(std::size_t step);
// `who` is written into the effects. The tool "slow" waits until the file "<effects>.go" exists if the context of the
// session says so ("waits": true).
std::vector<Tool> contest_tools(const std::string& who, const std::string& lane);
std::shared_ptr<Adapter> contest_model(const std::string& who, const std::string& effects);
// Runs the session. Exit statuses: 0 completed, 7 `fenced`, 4 another error.
int run_until_stopped(const StoppedRun& run);

}  // namespace allm::contest
