#include "testing/scenario/pattern.hpp"

#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "allm/scenario.hpp"

namespace allm::scenario::pattern_test {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;

Json json(const char* text) { return Json::parse(text); }

bool matches(const char* pattern, const char* observed) { return matches_pattern(json(pattern), json(observed)); }

std::vector<std::string> mismatches(const char* pattern, const char* observed) {
  std::vector<std::string> lines;
  match_pattern(json(pattern), json(observed), "expect[0]", &lines);
  return lines;
}

std::vector<FieldError> errors_of(const char* pattern) {
  ScenarioErrors errors;
  check_pattern(json(pattern), {"expect"}, errors);
  if (errors.empty()) return {};
  return errors.to_error().get_if<ValidationError>()->errors;
}

TEST(Pattern, ScalarMatchesOnlyAnEqualScalar) {
  EXPECT_TRUE(matches("1", "1"));
  EXPECT_TRUE(matches("1", "1.0"));
  EXPECT_TRUE(matches(R"("a")", R"("a")"));
  EXPECT_TRUE(matches("null", "null"));
  EXPECT_FALSE(matches("1", "2"));
  EXPECT_FALSE(matches("1", R"("1")"));
  EXPECT_FALSE(matches("null", "false"));
  EXPECT_FALSE(matches("0", "null"));
}

TEST(Pattern, ObjectMatchesIfItsKeysAreThereAndMatch) {
  EXPECT_TRUE(matches(R"({"a": 1})", R"({"b": 2, "a": 1})"));
  EXPECT_TRUE(matches("{}", R"({"b": 2})"));
  EXPECT_FALSE(matches(R"({"a": 1})", R"({"b": 2})"));
  EXPECT_FALSE(matches(R"({"a": 1})", R"({"a": 2})"));
  EXPECT_FALSE(matches("{}", "[]"));
}

TEST(Pattern, NullDoesNotMatchAMissingKey) {
  EXPECT_TRUE(matches(R"({"a": null})", R"({"a": null})"));
  EXPECT_FALSE(matches(R"({"a": null})", "{}"));
  EXPECT_FALSE(matches(R"({"a": {"$absent": true}})", R"({"a": null})"));
}

TEST(Pattern, ArrayMatchesElementByElementWithTheSameLength) {
  EXPECT_TRUE(matches("[1, {}]", R"([1, {"a": 2}])"));
  EXPECT_TRUE(matches("[]", "[]"));
  EXPECT_FALSE(matches("[1]", "[1, 2]"));
  EXPECT_FALSE(matches("[1, 2]", "[2, 1]"));
  EXPECT_FALSE(matches("[]", "{}"));
}

TEST(Pattern, AnyMatchesEveryValueThatExists) {
  EXPECT_TRUE(matches(R"({"a": {"$any": true}})", R"({"a": null})"));
  EXPECT_TRUE(matches(R"({"$any": true})", "[1]"));
  EXPECT_FALSE(matches(R"({"a": {"$any": true}})", "{}"));
}

TEST(Pattern, AbsentMatchesAMissingKey) {
  EXPECT_TRUE(matches(R"({"a": {"$absent": true}})", R"({"b": 1})"));
  EXPECT_FALSE(matches(R"({"a": {"$absent": true}})", R"({"a": 1})"));
  EXPECT_FALSE(matches(R"([{"$absent": true}])", "[1]"));
}

TEST(Pattern, ContainsFindsPartsOfTexts) {
  EXPECT_TRUE(matches(R"({"$contains": "b"})", R"("abc")"));
  EXPECT_TRUE(matches(R"({"$contains": ""})", R"("")"));
  EXPECT_FALSE(matches(R"({"$contains": "x"})", R"("abc")"));
  EXPECT_FALSE(matches(R"({"$contains": "x"})", R"(["x"])"));
  EXPECT_FALSE(matches(R"({"a": {"$contains": "x"}})", "{}"));
}

TEST(Pattern, LenCountsElementsMembersAndCharacters) {
  EXPECT_TRUE(matches(R"({"$len": 2})", "[1, 2]"));
  EXPECT_TRUE(matches(R"({"$len": 1})", R"({"a": 1})"));
  EXPECT_TRUE(matches(R"({"$len": 4})", R"("größ")"));
  EXPECT_FALSE(matches(R"({"$len": 2})", "[1]"));
  EXPECT_FALSE(matches(R"({"$len": 2})", "22"));
}

TEST(Pattern, UnorderedMatchesInAnyOrder) {
  EXPECT_TRUE(matches(R"({"$unordered": [1, 2, 3]})", "[3, 1, 2]"));
  EXPECT_TRUE(matches(R"({"$unordered": []})", "[]"));
  EXPECT_FALSE(matches(R"({"$unordered": [1, 2]})", "[1, 2, 2]"));
  EXPECT_FALSE(matches(R"({"$unordered": [1, 2]})", "[1, 1]"));
  EXPECT_FALSE(matches(R"({"$unordered": []})", "{}"));
}

TEST(Pattern, UnorderedFindsAMatchForEveryPattern) {
  // A greedy search would give the general pattern the only element that matches the special one.
  EXPECT_TRUE(matches(R"({"$unordered": [{"$any": true}, 1, {"$contains": "a"}]})", R"(["ab", 1, 7])"));
  EXPECT_TRUE(
      matches(R"({"$unordered": [{}, {"k": 1}, {"k": 1, "l": 2}]})", R"([{"k": 1, "l": 2}, {"k": 1}, {"m": 0}])"));
  EXPECT_FALSE(matches(R"({"$unordered": [{"k": 1}, {"k": 1}, {}]})", R"([{"k": 1}, {"m": 0}, {"m": 1}])"));
}

TEST(Pattern, OrderedSubsetAllowsOtherElementsBetween) {
  EXPECT_TRUE(matches(R"({"$ordered_subset": [1, 3]})", "[0, 1, 2, 3]"));
  EXPECT_TRUE(matches(R"({"$ordered_subset": []})", "[]"));
  EXPECT_FALSE(matches(R"({"$ordered_subset": [3, 1]})", "[0, 1, 2, 3]"));
  EXPECT_FALSE(matches(R"({"$ordered_subset": [1, 1]})", "[1]"));
  EXPECT_FALSE(matches(R"({"$ordered_subset": []})", "null"));
}

TEST(Pattern, AllNeedsEveryPattern) {
  EXPECT_TRUE(matches(R"({"$all": [{"$contains": "a"}, {"$contains": "b"}]})", R"("ab")"));
  EXPECT_TRUE(matches(R"({"$all": []})", "1"));
  EXPECT_FALSE(matches(R"({"$all": [{"$contains": "a"}, {"$contains": "c"}]})", R"("ab")"));
  EXPECT_TRUE(matches(R"({"a": {"$all": [{"$absent": true}]}})", "{}"));
}

TEST(Pattern, NoneRefusesAnyElementThatMatches) {
  EXPECT_TRUE(matches(R"({"$none": {"tag": "error"}})", R"([{"tag": "text"}])"));
  EXPECT_TRUE(matches(R"({"$none": 1})", "[]"));
  EXPECT_FALSE(matches(R"({"$none": {"tag": "error"}})", R"([{"tag": "text"}, {"tag": "error", "x": 1}])"));
  EXPECT_FALSE(matches(R"({"$none": 1})", "2"));
}

TEST(Pattern, MismatchesNameTheirPathAndBothValues) {
  EXPECT_THAT(
      mismatches(R"({"ok": {"messages": [{}, {"content": "a"}]}})", R"({"ok": {"messages": [{}, {"content": "b"}]}})"),
      ElementsAre(R"(expect[0].ok.messages[1].content: expected "a", got "b")"));
  EXPECT_THAT(mismatches(R"({"ok": 1})", R"({"error": 2})"),
              ElementsAre("expect[0].ok: expected 1, but it is missing"));
  EXPECT_THAT(mismatches(R"({"a": 1, "b": 2})", R"({"a": 2, "b": 1})"),
              ElementsAre(HasSubstr("expect[0].a"), HasSubstr("expect[0].b")));
}

TEST(Pattern, AMatchHasNoMismatches) { EXPECT_THAT(mismatches("[1]", "[1]"), IsEmpty()); }

TEST(Pattern, ALengthMismatchNamesTheFirstDifferenceOnly) {
  EXPECT_THAT(mismatches("[1, 2, 3]", "[1, 9, 8, 3]"),
              ElementsAre(StartsWith("expect[0]: expected 3 elements, got 4"), "expect[0][1]: expected 2, got 9"));
}

TEST(Pattern, MismatchesOfSpecialObjectsNameTheExpectation) {
  EXPECT_THAT(mismatches(R"({"$ordered_subset": [1, 5]})", "[0, 1, 2]"),
              ElementsAre(AllOf(HasSubstr("expected 5 (pattern 1) from element 2 on"), HasSubstr("[0,1,2]"))));
  EXPECT_THAT(mismatches(R"({"$unordered": [1, 5]})", "[1, 2]"), ElementsAre(HasSubstr("which no element matches")));
  EXPECT_THAT(mismatches(R"({"$unordered": [1, 1]})", "[1, 2]"), ElementsAre(HasSubstr("taken by other patterns")));
  EXPECT_THAT(mismatches(R"({"$none": 1})", "[2, 1]"), ElementsAre(StartsWith("expect[0][1]: expected no element")));
  EXPECT_THAT(mismatches(R"({"a": {"$absent": true}})", R"({"a": 1})"),
              ElementsAre("expect[0].a: expected nothing here, got 1"));
}

TEST(Pattern, LongValuesAreShortenedAtACharacter) {
  const Json value = std::string(200, 'x') + "ä";
  const std::string shortened = preview(value, 202);
  EXPECT_EQ(shortened, "\"" + std::string(200, 'x') + "…");
  EXPECT_EQ(preview(Json("short")), "\"short\"");
}

TEST(Pattern, PreviewRepairsTextThatIsNotValidUtf8) { EXPECT_THAT(preview(Json("\xff")), HasSubstr("\xEF\xBF\xBD")); }

TEST(Pattern, AMismatchAtTheRootHasAName) {
  std::vector<std::string> lines;
  EXPECT_FALSE(matches_pattern(1, 2, &lines));
  EXPECT_THAT(lines, ElementsAre("value: expected 1, got 2"));
}

TEST(Pattern, InvalidSpecialObjectsMatchNothing) {
  EXPECT_FALSE(matches(R"({"$bogus": 1})", "1"));
  EXPECT_FALSE(matches(R"({"$len": 1, "a": 1})", R"({"a": 1})"));
}

TEST(Pattern, CheckFindsEveryInvalidSpecialObject) {
  EXPECT_THAT(errors_of(R"([{"a": {"$bogus": 1}}, {"$len": -1}, {"$all": 1}, {"$contains": 1}, {"$any": false}])"),
              ElementsAre(FieldError{{"expect", 0, "a"}, "invalid_pattern"},
                          FieldError{{"expect", 1}, "invalid_pattern"}, FieldError{{"expect", 2}, "invalid_pattern"},
                          FieldError{{"expect", 3}, "invalid_pattern"}, FieldError{{"expect", 4}, "invalid_pattern"}));
  EXPECT_THAT(errors_of(R"([{"$all": [{"$none": {"$oops": 1}}]}])"),
              ElementsAre(FieldError{{"expect", 0, "$all", 0, "$none"}, "invalid_pattern"}));
  EXPECT_THAT(errors_of(R"([{"$any": true}, {"$unordered": [{"$len": 0}]}, {"a": {"$absent": true}}])"), IsEmpty());
}

}  // namespace
}  // namespace allm::scenario::pattern_test
