#include "cli/user_models.hpp"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>
#include <unistd.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace allm::cli::user_models_test {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

// Sets a variable for as long as it lives; nothing unsets it.
class Variable {
 public:
  Variable(const char* name, const std::optional<std::string>& value) : name_(name) {
    if (const char* old = std::getenv(name)) old_ = old;
    set(value);
  }
  Variable(const Variable&) = delete;
  Variable& operator=(const Variable&) = delete;
  ~Variable() { set(old_); }
  void set(const std::optional<std::string>& value) {
    if (value) {
      ::setenv(name_, value->c_str(), 1);
    } else {
      ::unsetenv(name_);
    }
  }

 private:
  const char* name_;
  std::optional<std::string> old_;
};

class UserModels : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string name = (fs::temp_directory_path() / "allm_models_XXXXXX").string();
    ASSERT_NE(::mkdtemp(name.data()), nullptr);
    folder_ = name;
    home_.set(folder_ / "home");
  }
  void TearDown() override { fs::remove_all(folder_); }

  // A model file that names one model of its own.
  std::string file(const fs::path& name, const std::string& id) {
    const fs::path path = folder_ / name;
    fs::create_directories(path.parent_path());
    std::ofstream(path) << R"({"allm_models": 1, "models": [{"provider": "mine", "id": ")" << id << R"("},
        {"provider": "openai", "id": "gpt-4.1-mini", "pricing": {"output": 9}}]})";
    return path;
  }

  static bool knows(const Result<std::shared_ptr<const Catalogue>>& catalogue, const char* id) {
    return catalogue && (*catalogue)->find(id) != nullptr;
  }

  fs::path folder_;
  Variable models_{"ALLM_MODELS", std::nullopt};
  Variable config_{"XDG_CONFIG_HOME", std::nullopt};
  Variable home_{"HOME", std::nullopt};
};

TEST_F(UserModels, WithoutAFileAreTheBuiltInOnes) {
  EXPECT_EQ(user_catalogue(), builtin_catalogue());
  config_.set(folder_ / "config");
  EXPECT_EQ(user_catalogue(), builtin_catalogue());
  config_.set(std::nullopt);
  home_.set(std::nullopt);
  EXPECT_EQ(user_catalogue(), builtin_catalogue());
}

TEST_F(UserModels, OverrideTheBuiltInOnes) {
  models_.set(file("a.json", "m"));
  const auto catalogue = user_catalogue();
  ASSERT_TRUE(catalogue.has_value()) << catalogue.error().message();
  EXPECT_TRUE(knows(catalogue, "m"));
  const ModelRef* known = (*catalogue)->find("gpt-4.1-mini");
  ASSERT_NE(known, nullptr);
  EXPECT_EQ(known->pricing["output"], 9);
  EXPECT_EQ(known->pricing["input"], builtin_catalogue()->find("gpt-4.1-mini")->pricing["input"]);
}

TEST_F(UserModels, AreLookedForInOrder) {
  file("home/.config/allm/models.json", "of_home");
  EXPECT_TRUE(knows(user_catalogue(), "of_home"));
  config_.set("relative");
  EXPECT_TRUE(knows(user_catalogue(), "of_home"));
  config_.set(folder_ / "config");
  EXPECT_FALSE(knows(user_catalogue(), "of_home"));
  file("config/allm/models.json", "of_config");
  EXPECT_TRUE(knows(user_catalogue(), "of_config"));
  models_.set("");
  EXPECT_TRUE(knows(user_catalogue(), "of_config"));
  models_.set(file("named.json", "of_variable"));
  EXPECT_TRUE(knows(user_catalogue(), "of_variable"));
  EXPECT_FALSE(knows(user_catalogue(), "of_config"));
}

TEST_F(UserModels, ThatCannotBeReadAreReported) {
  models_.set(folder_ / "missing.json");
  const auto missing = user_catalogue();
  ASSERT_FALSE(missing.has_value());
  EXPECT_THAT(missing.error().message(), HasSubstr("missing.json': No such file or directory"));

  models_.set(std::nullopt);
  fs::create_directories(folder_ / "home/.config/allm/models.json");
  const auto directory = user_catalogue();
  ASSERT_FALSE(directory.has_value());
  EXPECT_THAT(directory.error().message(), HasSubstr("/home/.config/allm/models.json': Is a directory"));
}

TEST_F(UserModels, ThatAreWrongAreReportedWithFileAndField) {
  const std::string path = file("a.json", "");
  models_.set(path);
  const auto catalogue = user_catalogue();
  ASSERT_FALSE(catalogue.has_value());
  EXPECT_THAT(catalogue.error().message(), HasSubstr(path));
  EXPECT_THAT(catalogue.error().message(), HasSubstr("models[0].id is empty"));
}

}  // namespace
}  // namespace allm::cli::user_models_test
