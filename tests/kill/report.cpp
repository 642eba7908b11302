#include "tests/kill/report.hpp"

#include <cstdio>
#include <numeric>

namespace allm::kill_matrix {
namespace {

int sum(const std::array<int, 3>& numbers) { return std::accumulate(numbers.begin(), numbers.end(), 0); }

void complain(const char* what, std::size_t cell, const std::string& session, const std::string& why) {
  std::fprintf(stderr, "%s in session %s (%s, %s lane): %s\n", what, session.c_str(), kCells[cell].store.c_str(),
               kCells[cell].lane.c_str(), why.c_str());
}

std::string joined(const std::set<std::string>& words) {
  std::string all;
  for (const std::string& word : words) all += (all.empty() ? "" : ", ") + word;
  return all;
}

}  // namespace

void Report::add(std::size_t cell, const Trial& trial) {
  const std::lock_guard lock(mutex_);
  Counts& counts = cells_[cell];
  ++counts.sessions;
  const int before = all_deaths();
  for (std::size_t i = 0; i < counts.deaths.size(); ++i) counts.deaths[i] += trial.deaths[i];
  counts.resumes += trial.resumes;
  constexpr int kDeathsPerLine = 1'000;
  const int after = all_deaths();
  if (before / kDeathsPerLine != after / kDeathsPerLine) std::fprintf(stderr, "%d deaths so far\n", after);
  calls_.insert(trial.calls.begin(), trial.calls.end());
  facts_.insert(trial.facts.begin(), trial.facts.end());
  for (const std::string& what : trial.verdict.duplicates) {
    ++counts.duplicates;
    complain("DUPLICATE", cell, trial.id, what + "; " + trial.course);
  }
  for (const std::string& what : trial.verdict.losses) {
    ++counts.losses;
    complain("LOSS", cell, trial.id, what + "; " + trial.course);
  }
  if (!trial.session) {
    ++counts.losses;
    complain("LOSS", cell, trial.id, trial.error + "; " + trial.course);
  }
}

void Report::add_loss(std::size_t cell, const std::string& session, const std::string& what) {
  const std::lock_guard lock(mutex_);
  ++cells_[cell].losses;
  complain("LOSS", cell, session, what);
}

int Report::deaths() const {
  const std::lock_guard lock(mutex_);
  return all_deaths();
}

int Report::all_deaths() const {
  int all = 0;
  for (const Counts& counts : cells_) all += sum(counts.deaths);
  return all;
}

bool Report::print() const {
  const std::lock_guard lock(mutex_);
  Counts all;
  for (std::size_t cell = 0; cell < kCells.size(); ++cell) {
    const Counts& counts = cells_[cell];
    print_line(kCells[cell].store + ", " + kCells[cell].lane + " lane", counts);
    all.sessions += counts.sessions;
    for (std::size_t i = 0; i < all.deaths.size(); ++i) all.deaths[i] += counts.deaths[i];
    all.resumes += counts.resumes;
    all.duplicates += counts.duplicates;
    all.losses += counts.losses;
  }
  print_line("kill matrix", all);
  std::printf("it was killed at the entry of %zu different system calls, and at the commits of these facts: %s\n",
              calls_.size(), joined(facts_).c_str());
  return all.duplicates == 0 && all.losses == 0;
}

void Report::print_line(const std::string& name, const Counts& counts) {
  std::printf(
      "%-24s %5d sessions, %5d deaths (%d at commits, %d at system calls, %d at moments), %5d resumes, %d duplicates, "
      "%d losses\n",
      (name + ":").c_str(), counts.sessions, sum(counts.deaths), counts.deaths[0], counts.deaths[1], counts.deaths[2],
      counts.resumes, counts.duplicates, counts.losses);
}

}  // namespace allm::kill_matrix
