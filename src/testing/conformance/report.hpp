// Collects the checks of one report. One thread at a time.
#pragma once

#include <optional>
#include <string>
#include <utility>

#include "allm/conformance.hpp"

namespace allm::conformance {

// What is wrong; nullopt if the check passed.
using Finding = std::optional<std::string>;

class ReportBuilder {
 public:
  explicit ReportBuilder(std::string subject) { report_.subject = std::move(subject); }
  void add(std::string name, Finding finding);
  void skip(std::string name, std::string why);
  ConformanceReport take() { return std::move(report_); }

 private:
  ConformanceReport report_;
};

}  // namespace allm::conformance
