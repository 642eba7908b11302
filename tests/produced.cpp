#include "tests/produced.hpp"

#include <mutex>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "allm/serialize.hpp"

namespace allm::testing {
namespace {

// A part of a key with this length must not appear in the output.
constexpr std::size_t kPart = 5;

struct Produced {
  std::mutex mutex;
  std::string text;
  std::vector<std::string> keys;
};
Produced& produced() {
  static auto* const all = new Produced;
  return *all;
}

class Search : public ::testing::Environment {
 public:
  void TearDown() override {
    const std::lock_guard lock(produced().mutex);
    for (const std::string& key : produced().keys) {
      const std::string_view secret = std::string_view(key).substr(key.rfind('-') + 1);
      for (std::size_t at = 0; at + kPart <= secret.size(); ++at) {
        const std::size_t found = produced().text.find(secret.substr(at, kPart));
        if (found == std::string::npos) continue;
        ADD_FAILURE() << "a key came out: ..." << produced().text.substr(found < 100 ? 0 : found - 100, 200);
        break;
      }
    }
    // With a filter, the selected tests may produce nothing.
    if (::testing::FLAGS_gtest_filter == "*") {
      EXPECT_FALSE(produced().text.empty()) << "nothing was noted that could be searched";
    }
  }
};
const auto* const kSearch = ::testing::AddGlobalTestEnvironment(new Search);

class NotingTelemetry : public Telemetry {
 public:
  void on_event(const TelemetryEvent& event) override {
    std::string line = name_of(event) + " " + std::string(event.request_id);
    if (event.model != nullptr) line += " " + *event.model;
    if (event.detail != nullptr) line += " " + event.detail->dump();
    if (event.response != nullptr) line += " " + to_json(*event.response).value_or("");
    if (event.chat != nullptr) line += " " + to_json(*event.chat).value_or("");
    if (event.step != nullptr) line += " " + to_json(*event.step).value_or("");
    if (event.error != nullptr) note_produced(*event.error);
    note_produced(std::move(line));
  }
};

}  // namespace

void expect_secret(const std::string& key) {
  const std::lock_guard lock(produced().mutex);
  produced().keys.push_back(key);
}

void note_produced(std::string text) {
  const std::lock_guard lock(produced().mutex);
  produced().text += std::move(text) + "\n";
}

void note_produced(const Error& error) {
  note_produced(error.message() + " " + to_json(error).value_or("") + " " + error.metadata().dump());
}

std::shared_ptr<Telemetry> noting_telemetry() { return std::make_shared<NotingTelemetry>(); }

}  // namespace allm::testing
