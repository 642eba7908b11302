// The JSON Schema organisation's test suite: every required test of draft-07 and draft 2020-12 passes, except those
// that are listed here with the reason.
//
// Draft-07 comes from Debian's package json-schema-test-suite. Draft 2020-12, which that package lacks, comes from
// $JSON_SCHEMA_TEST_SUITE or ../shared/json-schema-test-suite beside the repository, and is skipped without them.
#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "allm/schema.hpp"

namespace allm::json_schema_suite_test {
namespace {

namespace fs = std::filesystem;

// A group of tests whose schema does not compile, identified by its exact names.
struct Exception {
  std::string_view file;
  std::string_view group;
  std::string_view reason;
};

constexpr std::string_view kRemote = "needs a remote reference";
constexpr std::string_view kMetaschema = "needs a remote reference: the metaschema";
constexpr std::string_view kDynamic = "needs a remote reference: $dynamicRef across documents";
constexpr std::string_view kVocabulary = "needs a loader of vocabularies";

const std::vector<Exception> kDraft7Exceptions = {
    {"definitions.json", "valid definition", kMetaschema},
    {"definitions.json", "invalid definition", kMetaschema},
    {"ref.json", "remote ref, containing refs itself", kMetaschema},
    {"refRemote.json", "remote ref", kRemote},
    {"refRemote.json", "fragment within remote ref", kRemote},
    {"refRemote.json", "ref within remote ref", kRemote},
    {"refRemote.json", "base URI change", kRemote},
    {"refRemote.json", "base URI change - change folder", kRemote},
    {"refRemote.json", "base URI change - change folder in subschema", kRemote},
    {"refRemote.json", "root ref in remote ref", kRemote},
};

const std::vector<Exception> kDraft202012Exceptions = {
    {"defs.json", "validate definition against metaschema", kMetaschema},
    {"dynamicRef.json", "strict-tree schema, guards against misspelled properties", kDynamic},
    {"dynamicRef.json", "tests for implementation dynamic anchor and reference link", kDynamic},
    {"dynamicRef.json", "$ref and $dynamicAnchor are independent of order - $defs first", kDynamic},
    {"dynamicRef.json", "$ref and $dynamicAnchor are independent of order - $ref first", kDynamic},
    {"dynamicRef.json", "$ref to $dynamicRef finds detached $dynamicAnchor", kDynamic},
    {"ref.json", "remote ref, containing refs itself", kMetaschema},
    {"refRemote.json", "remote ref", kRemote},
    {"refRemote.json", "fragment within remote ref", kRemote},
    {"refRemote.json", "anchor within remote ref", kRemote},
    {"refRemote.json", "ref within remote ref", kRemote},
    {"refRemote.json", "base URI change", kRemote},
    {"refRemote.json", "base URI change - change folder", kRemote},
    {"refRemote.json", "base URI change - change folder in subschema", kRemote},
    {"refRemote.json", "root ref in remote ref", kRemote},
    {"refRemote.json", "remote ref with ref to defs", kRemote},
    {"refRemote.json", "Location-independent identifier in remote ref", kRemote},
    {"refRemote.json", "retrieved nested refs resolve relative to their URI not $id", kRemote},
    {"refRemote.json", "remote HTTP ref with different $id", kRemote},
    {"refRemote.json", "remote HTTP ref with different URN $id", kRemote},
    {"refRemote.json", "remote HTTP ref with nested absolute ref", kRemote},
    {"refRemote.json", "$ref to $ref finds detached $anchor", kRemote},
    {"vocabulary.json", "schema that uses custom metaschema with with no validation vocabulary", kVocabulary},
    {"vocabulary.json", "ignore unrecognized optional vocabulary", kVocabulary},
};

struct Outcome {
  std::size_t run = 0;
  std::size_t passed = 0;
  std::size_t excepted = 0;
};

Json read(const fs::path& path) {
  std::ifstream file(path);
  return Json::parse(file);
}

constexpr std::string_view kNotCompiled = "does not compile: ";

// Describes the first test of a group that fails; empty if all pass.
std::string first_failure(const Json& group, SchemaOptions::Dialect dialect) {
  const auto schema = Schema::compile(group.at("schema"), {.dialect = dialect});
  if (!schema) return std::string(kNotCompiled) + schema.error().message();
  for (const Json& test : group.at("tests")) {
    const bool valid = test.at("valid").get<bool>();
    const auto errors = schema->validate(test.at("data"));
    const std::string name = "'" + test.at("description").get<std::string>() + "' ";
    if (errors.empty() != valid) return name + (valid ? "is rejected: " + errors.front().message : "is accepted");
    if (schema->accepts(test.at("data")) != valid) return name + "has another verdict from accepts()";
  }
  return {};
}

Outcome run_suite(const fs::path& folder, SchemaOptions::Dialect dialect, const std::vector<Exception>& exceptions) {
  Outcome outcome;
  std::vector<bool> seen(exceptions.size());
  std::vector<fs::path> files;
  for (const auto& entry : fs::directory_iterator(folder)) {
    if (entry.path().extension() == ".json") files.push_back(entry.path());
  }
  std::ranges::sort(files);
  for (const fs::path& path : files) {
    const std::string file = path.filename().string();
    for (const Json& group : read(path)) {
      const std::size_t tests = group.at("tests").size();
      const std::string name = group.at("description").get<std::string>();
      const std::string failure = first_failure(group, dialect);
      const auto listed = std::ranges::find_if(
          exceptions, [&](const Exception& exception) { return exception.file == file && exception.group == name; });
      outcome.run += tests;
      if (listed != exceptions.end()) {
        seen[static_cast<std::size_t>(listed - exceptions.begin())] = true;
        outcome.excepted += tests;
        EXPECT_TRUE(failure.starts_with(kNotCompiled))
            << file << " / " << name
            << (failure.empty() ? " passes: take it off the list" : " fails otherwise: " + failure);
      } else {
        EXPECT_EQ(failure, "") << file << " / " << name;
        if (failure.empty()) outcome.passed += tests;
      }
    }
  }
  for (std::size_t i = 0; i < seen.size(); ++i) {
    EXPECT_TRUE(seen[i]) << exceptions[i].file << " / " << exceptions[i].group << " (" << exceptions[i].reason
                         << ") is not in the suite: take it off the list";
  }
  std::cout << folder.string() << ": " << outcome.run << " tests, " << outcome.passed << " passed, " << outcome.excepted
            << " excepted\n";
  return outcome;
}

TEST(JsonSchemaSuite, Draft7PassesExceptForListedGroups) {
  const fs::path folder = "/usr/share/json-schema-test-suite/tests/draft7";
  ASSERT_TRUE(fs::is_directory(folder)) << "install Debian's package json-schema-test-suite";
  const Outcome outcome = run_suite(folder, SchemaOptions::Dialect::draft7, kDraft7Exceptions);
  EXPECT_GT(outcome.passed, 0U) << "no tests were found";
}

TEST(JsonSchemaSuite, Draft202012PassesExceptForListedGroups) {
  std::vector<fs::path> roots;
  if (const char* root = std::getenv("JSON_SCHEMA_TEST_SUITE")) roots.emplace_back(root);
  roots.push_back(fs::path(ALLM_SOURCE_DIR) / ".." / "shared" / "json-schema-test-suite");
  const auto found = std::ranges::find_if(
      roots, [](const fs::path& root) { return fs::is_directory(root / "tests" / "draft2020-12"); });
  if (found == roots.end()) GTEST_SKIP() << "no suite of draft 2020-12 here; set JSON_SCHEMA_TEST_SUITE";
  const Outcome outcome = run_suite((*found / "tests" / "draft2020-12").lexically_normal(),
                                    SchemaOptions::Dialect::auto_detect, kDraft202012Exceptions);
  EXPECT_GT(outcome.passed, 0U) << "no tests were found";
}

}  // namespace
}  // namespace allm::json_schema_suite_test
