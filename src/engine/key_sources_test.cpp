// Where keys come from, in which order, and that they are redacted.
#include "engine/key_sources.hpp"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <unistd.h>

#include <gtest/gtest.h>

namespace allm::key_sources_test {
namespace {

// Sets an environment variable for the duration of a test.
class Variable {
 public:
  Variable(const char* name, const char* value) : name_(name) { setenv(name, value, 1); }
  ~Variable() { unsetenv(name_); }
  Variable(const Variable&) = delete;
  Variable& operator=(const Variable&) = delete;

 private:
  const char* name_;
};

// A provider for which no other test sets a key.
constexpr const char* kProvider = "key-test";
constexpr const char* kVariable = "KEY_TEST_API_KEY";

std::string found(const KeySources& sources, const ApiKey& of_call = {}) {
  const Result<ApiKey> key = find_key(sources, of_call);
  return key ? key->reveal() : key.error().message();
}

TEST(KeySources, AreTriedInOrder) {
  const auto file = std::filesystem::temp_directory_path() / ("allm-keys-" + std::to_string(getpid()));
  std::ofstream(file) << "# mine\nOTHER=x\nexport KEY_TEST_API_KEY=\"of-file\"\n";
  KeySources sources{.provider = kProvider, .env_file = file.string()};
  EXPECT_EQ(found(sources), "of-file");
  const Variable variable(kVariable, "of-environment");
  EXPECT_EQ(found(sources), "of-environment");
  sources.configured = "of-config";
  EXPECT_EQ(found(sources), "of-config");
  set_key(kProvider, "of-store");
  EXPECT_EQ(found(sources), "of-store");
  EXPECT_EQ(found(sources, "of-call"), "of-call");
  forget_key(kProvider);
  EXPECT_EQ(found(sources), "of-config");
  std::filesystem::remove(file);
}

TEST(KeySources, ThatAreEmptyAreSkipped) {
  const Variable variable(kVariable, "");
  set_key(kProvider, "");
  const Result<ApiKey> key = find_key({.provider = kProvider, .configured = "", .env_file = "/nowhere/.env"}, "");
  ASSERT_FALSE(key.has_value());
  EXPECT_TRUE(key.error().is<EngineError>(EngineError::Reason::missing_key));
  EXPECT_EQ(key.error().message(),
            "no key for key-test: neither the call nor allm::set_key nor the adapter's options have one, and the "
            "environment does not set KEY_TEST_API_KEY (also in /nowhere/.env); set one of them");
  EXPECT_EQ(key.error().metadata(), *parse_json(R"({"tried": [
    {"source": "call_option", "name": "api_key"}, {"source": "key_store", "name": "key-test"},
    {"source": "adapter_option", "name": "api_key"}, {"source": "environment", "name": "KEY_TEST_API_KEY"},
    {"source": "env_file", "name": "KEY_TEST_API_KEY", "path": "/nowhere/.env"}]})"));
  forget_key(kProvider);
}

TEST(KeySources, ThatAreOptionalGiveAnEmptyKey) {
  const Result<ApiKey> key = find_key({.provider = kProvider, .optional = true}, {});
  ASSERT_TRUE(key.has_value());
  EXPECT_TRUE(key->empty());
}

TEST(EnvFile, IsReadAsShellsReadIt) {
  constexpr std::string_view kText =
      "A=plain # with a comment\r\n  export B = 'single' \nC=\"dou#ble\"\n#D=no\nE=\nno line\nA=second\n";
  EXPECT_EQ(env_file_value(kText, "A"), "plain");
  EXPECT_EQ(env_file_value(kText, "B"), "single");
  EXPECT_EQ(env_file_value(kText, "C"), "dou#ble");
  EXPECT_EQ(env_file_value(kText, "D"), std::nullopt);
  EXPECT_EQ(env_file_value(kText, "E"), "");
  EXPECT_EQ(env_file_value("", "A"), std::nullopt);
}

TEST(ApiKeys, ShowAtMostTheirLastCharacters) {
  EXPECT_EQ(ApiKey("sk-0123456789abcdefwxyz").hint(), "…wxyz");
  EXPECT_EQ(ApiKey("short").hint(), "…");
  EXPECT_EQ(ApiKey().hint(), "none");
  EXPECT_EQ(ApiKey(nullptr).reveal(), "");
}

}  // namespace
}  // namespace allm::key_sources_test
