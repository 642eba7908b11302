#include "allm/engine.hpp"

#include <memory>
#include <set>
#include <string>
#include <utility>

#include <gtest/gtest.h>

#include "allm/chat.hpp"

#include "engine/request_id.hpp"
#include "engine/tool_set.hpp"

namespace allm::engine_test {
namespace {

TEST(Engine, HasAUniquePositiveIdThatCopiesAndDerivedEnginesKeep) {
  const Engine first{EngineOptions{}};
  const Engine second{EngineOptions{}};
  EXPECT_GT(first.id(), 0U);
  EXPECT_NE(first.id(), second.id());
  const Engine copy = first;
  EXPECT_EQ(copy.id(), first.id());
  EXPECT_EQ(first.with_model("m").id(), first.id());
  EXPECT_EQ(first.with_params({{"top_p", 1}}).id(), first.id());
  EXPECT_EQ(first.with_context({{"a", 1}}).id(), first.id());
  EXPECT_EQ(first.with_tools({}).id(), first.id());
  EXPECT_NE(Engine(first.options()).id(), first.id()) << "made anew";
}

TEST(Engine, DerivedEnginesDifferInOneOptionOnly) {
  const Engine base({.model = "m", .tools = {{.name = "t"}}, .params = {{"x", 1}}, .context = {{"c", 1}}});
  EXPECT_EQ(base.with_model("other").model()->id, "other");
  EXPECT_EQ(base.with_model("other").tools().size(), 1U);
  EXPECT_EQ(base.with_tools({{.name = "u"}, {.name = "v"}}).tools().size(), 2U);
  EXPECT_EQ(base.with_params({{"y", 2}}).params(), Json({{"y", 2}}));
  EXPECT_EQ(base.with_params({{"y", 2}}).context(), Json({{"c", 1}}));
  EXPECT_EQ(base.with_context({{"d", 2}}).context(), Json({{"d", 2}}));
  EXPECT_EQ(base.model()->id, "m");
  EXPECT_EQ(base.tools()[0].name, "t");
}

TEST(Engine, ReturnsTheOptionsItWasMadeFrom) {
  const auto runtime = Runtime::create();
  const Engine engine({.model = "m", .tools = {{.name = "t"}}, .runtime = runtime, .metadata = {{"k", 1}}});
  const EngineOptions options = engine.options();
  EXPECT_EQ(options.model->id, "m");
  ASSERT_EQ(options.tools.size(), 1U);
  EXPECT_EQ(options.tools[0].name, "t");
  EXPECT_EQ(options.runtime, runtime);
  EXPECT_EQ(engine.metadata(), Json({{"k", 1}}));
}

TEST(Engine, UsesTheRuntimeOfTheProcessUnlessItHasOne) {
  EXPECT_EQ(Engine().runtime(), Runtime::process());
  EXPECT_EQ(Engine(EngineOptions{}).runtime(), Runtime::process());
}

TEST(RequestId, Is22UrlSafeCharactersAndUnique) {
  std::set<std::string> seen;
  for (int i = 0; i < 1000; ++i) {
    const std::string id = make_request_id();
    EXPECT_EQ(id.size(), 22U);
    EXPECT_NE(id.front(), '-') << "a command takes such an id for an option";
    EXPECT_EQ(id.find_first_not_of("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"),
              std::string::npos);
    EXPECT_TRUE(seen.insert(id).second);
  }
}

TEST(ToolSet, FindsByName) {
  for (const std::size_t size : {3U, 20U}) {  // below and above the size from which the set has an index
    std::vector<Tool> tools;
    for (std::size_t i = 0; i < size; ++i) tools.push_back({.name = "t" + std::to_string(i)});
    const ToolSet set(tools);
    for (std::size_t i = 0; i < size; ++i) {
      ASSERT_NE(set.find("t" + std::to_string(i)), nullptr);
      EXPECT_EQ(set.find("t" + std::to_string(i)), &set.tools()[i]);
    }
    EXPECT_EQ(set.find("other"), nullptr);
    EXPECT_EQ(set.find(""), nullptr);
  }
  const ToolSet twice({{.name = "t", .description = "first"}, {.name = "t", .description = "second"}});
  EXPECT_EQ(twice.find("t")->description, "first");
}

TEST(ToolSet, ReplacesAToolInItsPosition) {
  const ToolSet base({{.name = "a", .description = "old"}, {.name = "b"}, {.name = "c"}});
  const auto merged = base.with({{.name = "d"}, {.name = "a", .description = "new"}});
  ASSERT_EQ(merged->tools().size(), 4U);
  EXPECT_EQ(merged->tools()[0].description, "new");
  EXPECT_EQ(merged->tools()[3].name, "d");
  EXPECT_EQ(base.tools()[0].description, "old");
  EXPECT_EQ(base.tools().size(), 3U);
}

TEST(ToolSet, CompilesSchemasOnceAndOnlyIfTheyCanReject) {
  const ToolSet set({{.name = "any"},
                     {.name = "object", .schema = {{"type", "object"}}},
                     {.name = "checked", .schema = {{"type", "object"}, {"required", {"a"}}}},
                     {.name = "broken", .schema = {{"type", 7}}}});
  EXPECT_EQ(set.schema(set.tools()[0]), nullptr);
  EXPECT_EQ(set.schema(set.tools()[1]), nullptr);
  const Result<Schema>* checked = set.schema(set.tools()[2]);
  ASSERT_NE(checked, nullptr);
  ASSERT_TRUE(checked->has_value());
  EXPECT_EQ(set.schema(set.tools()[2]), checked);
  EXPECT_FALSE((*checked)->validate(Json::object()).empty());
  ASSERT_NE(set.schema(set.tools()[3]), nullptr);
  EXPECT_FALSE(set.schema(set.tools()[3])->has_value());
}

TEST(Engine, MovedFromIsAnEngineWithoutAnAdapter) {
  Engine engine({.model = "m", .context = {{"a", 1}}});
  const Engine moved = std::move(engine);
  EXPECT_EQ(moved.model()->id, "m");
  // NOLINTBEGIN(bugprone-use-after-move): this is what is tested
  EXPECT_EQ(engine.adapter(), nullptr);
  EXPECT_FALSE(engine.model().has_value());
  EXPECT_EQ(engine.id(), Engine().id());
  EXPECT_EQ(engine.with_model("n").model()->id, "n");
  EXPECT_EQ(chat(engine, {user("hi")}).error().reason(), "missing_adapter");
  // NOLINTEND(bugprone-use-after-move)
}

}  // namespace
}  // namespace allm::engine_test
