// Catalogues: finding a model, overriding one catalogue by another, and reading them from files.
#include <filesystem>
#include <fstream>
#include <string>
#include <unistd.h>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "allm/model.hpp"

namespace allm::catalogue_test {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

ModelRef model(const std::string& provider, const std::string& id) {
  ModelRef ref(id);
  ref.provider = provider;
  return ref;
}

std::string found(const Catalogue& catalogue, const ModelRef& reference) {
  const ModelRef* entry = catalogue.find(reference);
  return entry == nullptr ? "none" : *entry->provider + ":" + entry->id;
}

TEST(CatalogueLookup, FindsTheModelOfASnapshotOrAnAlias) {
  const Catalogue catalogue({model("a", "m"), model("b", "m"), model("a", "m-mini"), model("a", "m-2024-05-13")});
  EXPECT_EQ(found(catalogue, "m"), "a:m");
  for (const char* mark : {"-2025-04-14", "-20250929", "@20250929", "-latest"}) {
    EXPECT_EQ(found(catalogue, std::string("m-mini") + mark), "a:m-mini");
    EXPECT_EQ(found(catalogue, model("b", std::string("m") + mark)), "b:m");
    EXPECT_EQ(found(catalogue, model("c", std::string("m") + mark)), "none");
    EXPECT_EQ(found(catalogue, mark), "none");
  }
  EXPECT_EQ(found(catalogue, "m-2024-05-13"), "a:m-2024-05-13");
}

TEST(CatalogueLookup, TakesNothingElseForTheSame) {
  const Catalogue catalogue({model("a", "m"), model("a", "n-latest"), model("a", "o-20250101")});
  for (const char* id : {"m-", "m-1", "m-2025", "m-2025-04", "m-2025-04-1x", "m-2025041", "m-202504145", "m@2025-04-14",
                         "m20250414", "m-preview-20250414", "m-latest-20250414", "m_latest", "M", "n", "n-20250414",
                         "o", "o-20250102", "o-latest", ""}) {
    EXPECT_EQ(found(catalogue, id), "none") << id;
  }
}

TEST(CatalogueOverride, ReplacesWhatIsMentionedAndAddsTheRest) {
  ModelRef ours = model("a", "m");
  ours.capabilities = {{"tools", true}, {"vision", true}};
  ours.limits = {{"context_tokens", 8}};
  ours.pricing = {{"input", 1.0}, {"output", 2.0}};
  ours.metadata = {{"kept", 1}};
  ModelRef theirs = model("a", "m");
  theirs.capabilities = {{"vision", false}, {"reasoning", true}};
  theirs.pricing = {{"output", nullptr}};
  theirs.unknown_fields = {{"note", "x"}};
  const Catalogue below({ours, model("a", "other")});
  const Catalogue merged = below.overridden_by(Catalogue({theirs, model("b", "m")}));

  ASSERT_EQ(merged.models().size(), 3U);
  const ModelRef& entry = merged.models()[0];
  EXPECT_EQ(entry.capabilities, Json({{"tools", true}, {"vision", false}, {"reasoning", true}}));
  EXPECT_EQ(entry.limits, ours.limits);
  EXPECT_EQ(entry.pricing, Json({{"input", 1.0}, {"output", nullptr}}));
  EXPECT_EQ(entry.metadata, ours.metadata);
  EXPECT_EQ(entry.unknown_fields, theirs.unknown_fields);
  EXPECT_EQ(merged.models()[1], model("a", "other"));
  EXPECT_EQ(merged.models()[2], model("b", "m"));
  EXPECT_EQ(below.models()[0], ours);
}

TEST(CatalogueOverride, ByNothingOrOfNothingIsACopy) {
  const Catalogue one({model("a", "m")});
  EXPECT_EQ(one.overridden_by(Catalogue()).models(), one.models());
  EXPECT_EQ(Catalogue().overridden_by(one).models(), one.models());
}

std::string file_of(const std::string& models) { return R"({"allm_models": 1, "models": [)" + models + "]}"; }

TEST(CatalogueFile, KeepsAllThatAnEntrySays) {
  const Result<Catalogue> catalogue = catalogue_from_json(R"({"allm_models": 1, "prices_as_of": "today", "models": [
      {"provider": "p", "id": "m", "capabilities": {"tools": true, "vision": null, "smell": "faint"},
       "limits": {"context_tokens": 128000}, "pricing": {"input": 0.1, "output": 0, "currency": "USD"},
       "metadata": {"a": 1}, "nick": "n"},
      {"provider": "p", "id": "n"}]})");
  ASSERT_TRUE(catalogue.has_value()) << catalogue.error().message();
  ModelRef expected = model("p", "m");
  expected.capabilities = {{"tools", true}, {"vision", nullptr}, {"smell", "faint"}};
  expected.limits = {{"context_tokens", 128000}};
  expected.pricing = {{"input", 0.1}, {"output", 0}, {"currency", "USD"}};
  expected.metadata = {{"a", 1}};
  expected.unknown_fields = {{"nick", "n"}};
  EXPECT_EQ(catalogue->models(), (std::vector<ModelRef>{expected, model("p", "n")}));
}

// "path:reason" of each error.
std::vector<std::string> errors_in(const std::string& text) {
  const Result<Catalogue> catalogue = catalogue_from_json(text);
  std::vector<std::string> found;
  if (catalogue) return found;
  EXPECT_TRUE(catalogue.error().is<ValidationError>(ValidationError::Reason::invalid_request));
  for (const FieldError& error : catalogue.error().get_if<ValidationError>()->errors) {
    found.push_back(to_string(error.path) + ":" + error.reason);
    // The message about a text that is not valid JSON names the byte instead.
    if (found.back() != "json:malformed" && found.back() != "json:too_large") {
      EXPECT_THAT(catalogue.error().message(), HasSubstr(to_string(error.path)));
    }
  }
  return found;
}

using Words = std::vector<std::string>;

TEST(CatalogueFile, IsAnObjectOfTheKnownVersionWithAList) {
  EXPECT_EQ(errors_in("[]"), Words{"json:invalid_type"});
  EXPECT_EQ(errors_in(R"({"models": []})"), Words{"allm_models:required"});
  EXPECT_EQ(errors_in(R"({"allm_models": "1", "models": []})"), Words{"allm_models:invalid_type"});
  EXPECT_EQ(errors_in(R"({"allm_models": 2, "models": 7})"), Words{"allm_models:unsupported_version"});
  EXPECT_EQ(errors_in(R"({"allm_models": 1})"), Words{"models:required"});
  EXPECT_EQ(errors_in(R"({"allm_models": 1, "models": {}})"), Words{"models:invalid_type"});
  EXPECT_EQ(errors_in(file_of("")), Words{});
}

TEST(CatalogueFile, NamesEveryFieldThatIsWrong) {
  EXPECT_EQ(errors_in(file_of(R"(7, {}, {"provider": "", "id": 3})")),
            (Words{"models[0]:invalid_type", "models[1].provider:required", "models[1].id:required",
                   "models[2].provider:empty", "models[2].id:invalid_type"}));
  EXPECT_EQ(errors_in(file_of(R"({"provider": "p", "id": "m", "capabilities": {"vision": "yes"}})")),
            Words{"models[0].capabilities.vision:invalid_type"});
  EXPECT_EQ(errors_in(file_of(R"({"provider": "p", "id": "m", "capabilities": [], "limits": 8, "pricing": "free",
                                 "metadata": 1})")),
            (Words{"models[0].capabilities:invalid_type", "models[0].limits:invalid_type",
                   "models[0].pricing:invalid_type", "models[0].metadata:invalid_type"}));
  EXPECT_EQ(errors_in(file_of(R"({"provider": "p", "id": "m",
                                 "limits": {"context_tokens": 1.5, "output_tokens": 0}})")),
            (Words{"models[0].limits.context_tokens:invalid_type", "models[0].limits.output_tokens:must_be_positive"}));
  EXPECT_EQ(errors_in(file_of(R"({"provider": "p", "id": "a"}, {"provider": "p", "id": "b", "pricing":
                                 {"input": -0.1, "cached_input": "1", "cache_write": true, "cache_write_1h": -1}},
                                {"provider": "p", "id": "c", "pricing": {"output": []}})")),
            (Words{"models[1].pricing.input:negative", "models[1].pricing.cached_input:invalid_type",
                   "models[1].pricing.cache_write:invalid_type", "models[1].pricing.cache_write_1h:negative",
                   "models[2].pricing.output:invalid_type"}));
}

TEST(CatalogueFile, HasFamiliesOfModelsThatRefuseTheSameSettings) {
  const Result<Catalogue> catalogue = catalogue_from_json(R"({"allm_models": 1,
      "families": {"f": {"refuses": {"temperature": {"default": 1}, "top_p": {}}, "source": "s", "as_of": "2026-11-18"}},
      "models": [
      {"provider": "p", "id": "a", "family": "f", "source": "a document", "as_of": "2026-11-18", "unconfirmed": ["limits"]},
      {"provider": "p", "id": "b", "family": "f", "metadata": {"x": 1}, "source": "s",
       "refuses": {"top_p": null, "n": {"unless": {"seed": [null, 7]}, "instead": 1}}},
      {"provider": "p", "id": "c"}]})");
  ASSERT_TRUE(catalogue.has_value()) << catalogue.error().message();
  const std::vector<ModelRef>& models = catalogue->models();
  EXPECT_EQ(models[0].refuses, Json({{"temperature", {{"default", 1}}}, {"top_p", Json::object()}}));
  EXPECT_EQ(models[0].metadata, Json({{"source", "a document"}, {"as_of", "2026-11-18"}, {"unconfirmed", {"limits"}}}));
  EXPECT_EQ(models[1].refuses["temperature"], Json({{"default", 1}}));
  EXPECT_EQ(models[1].refuses["top_p"], Json());
  EXPECT_EQ(models[1].refuses["n"], Json({{"unless", {{"seed", {nullptr, 7}}}}, {"instead", 1}}));
  EXPECT_EQ(models[1].metadata, Json({{"x", 1}, {"source", "s"}}));
  EXPECT_TRUE(models[2].refuses.is_null());
}

TEST(CatalogueFile, NamesEveryRuleThatIsWrong) {
  EXPECT_EQ(errors_in(R"({"allm_models": 1, "families": 1, "models": []})"), Words{"families:invalid_type"});
  EXPECT_EQ(
      errors_in(R"({"allm_models": 1, "families": {"f": 1, "g": {"refuses": {"n": 1}, "source": "", "as_of": "now"}},
                          "models": [{"provider": "p", "id": "m", "family": "h"}]})"),
      (Words{"families.f:invalid_type", "families.g.source:invalid_type", "families.g.as_of:invalid_type",
             "families.g.refuses.n:invalid_type", "models[0].family:unknown"}));
  EXPECT_EQ(
      errors_in(file_of(R"({"provider": "p", "id": "m", "refuses": {"n": {"unless": {"x": 1}, "defualt": 1}},
                                 "source": 1, "as_of": "18.11.2026", "unconfirmed": "all"})")),
      (Words{"models[0].refuses.n.unless:invalid_type", "models[0].refuses.n.defualt:unknown_field",
             "models[0].source:invalid_type", "models[0].as_of:invalid_type", "models[0].unconfirmed:invalid_type"}));
}

TEST(CatalogueFile, NamesAModelOnce) {
  const std::string text =
      file_of(R"({"provider": "p", "id": "m"}, {"provider": "q", "id": "m"}, {"provider": "p", "id": "m"})");
  EXPECT_EQ(errors_in(text), Words{"models[2].id:duplicate"});
  EXPECT_THAT(catalogue_from_json(text).error().message(), HasSubstr("models[0]"));
}

TEST(CatalogueFile, ThatIsAllWrongIsReportedInPart) {
  std::string entries = "1";
  for (int i = 0; i < 1000; ++i) entries += ",1";
  EXPECT_EQ(errors_in(file_of(entries)).size(), 50U);
  EXPECT_THAT(catalogue_from_json(file_of(entries)).error().message(), HasSubstr("perhaps more"));
}

TEST(CatalogueFile, ThatIsNoJsonIsAnError) {
  EXPECT_EQ(errors_in("{"), Words{"json:malformed"});
  EXPECT_EQ(errors_in(R"({"allm_models": 1, "allm_models": 1})").size(), 1U);
  EXPECT_EQ(errors_in(std::string((16U << 20U) + 1, ' ')), Words{"json:too_large"});
}

TEST(CatalogueFile, IsReadByPath) {
  std::string name = (std::filesystem::temp_directory_path() / "allm_catalogue_XXXXXX").string();
  ASSERT_NE(::mkdtemp(name.data()), nullptr);
  const std::filesystem::path folder = name;

  const std::string good = folder / "good.json";
  std::ofstream(good) << file_of(R"({"provider": "p", "id": "m"})");
  const Result<Catalogue> catalogue = read_catalogue(good);
  ASSERT_TRUE(catalogue.has_value()) << catalogue.error().message();
  EXPECT_EQ(found(*catalogue, "m"), "p:m");

  const std::string bad = folder / "bad.json";
  std::ofstream(bad) << file_of("1");
  EXPECT_THAT(read_catalogue(bad).error().message(), StartsWith(bad + ": "));
  EXPECT_TRUE(read_catalogue(bad).error().is<ValidationError>(ValidationError::Reason::invalid_request));

  const std::string missing = folder / "missing.json";
  EXPECT_EQ(read_catalogue(missing).error().message(),
            "cannot read the model file '" + missing + "': No such file or directory");
  EXPECT_EQ(read_catalogue(missing).error().get_if<ValidationError>()->errors[0].reason, "enoent");

  const std::string large = folder / "large.json";
  std::ofstream(large) << "{}";
  std::filesystem::resize_file(large, (16U << 20U) + 1);
  EXPECT_EQ(read_catalogue(large).error().get_if<ValidationError>()->errors[0].reason, "efbig");
  EXPECT_THAT(read_catalogue(large).error().message(), HasSubstr("16 MiB"));
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace allm::catalogue_test
