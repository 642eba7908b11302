#include "testing/conformance/report.hpp"

#include <algorithm>

namespace allm {

using Outcome = ConformanceCheck::Outcome;

bool ConformanceReport::passed() const {
  return std::ranges::none_of(checks, [](const ConformanceCheck& check) { return check.outcome == Outcome::failed; });
}

const ConformanceCheck* ConformanceReport::find(std::string_view name) const {
  const auto found = std::ranges::find(checks, name, &ConformanceCheck::name);
  return found == checks.end() ? nullptr : &*found;
}

std::string ConformanceReport::summary() const {
  std::string text;
  std::size_t failed = 0;
  std::size_t skipped = 0;
  for (const ConformanceCheck& check : checks) {
    if (check.outcome == Outcome::passed) continue;
    ++(check.outcome == Outcome::failed ? failed : skipped);
    text += subject + (check.outcome == Outcome::failed ? ": FAILED " : ": skipped ") + check.name + ": " +
            check.message + "\n";
  }
  return text + subject + ": " + std::to_string(checks.size() - failed - skipped) + " passed, " +
         std::to_string(failed) + " failed, " + std::to_string(skipped) + " skipped\n";
}

namespace conformance {

void ReportBuilder::add(std::string name, Finding finding) {
  const Outcome outcome = finding ? Outcome::failed : Outcome::passed;
  report_.checks.push_back({std::move(name), outcome, std::move(finding).value_or("")});
}

void ReportBuilder::skip(std::string name, std::string why) {
  report_.checks.push_back({std::move(name), Outcome::skipped, std::move(why)});
}

}  // namespace conformance
}  // namespace allm
