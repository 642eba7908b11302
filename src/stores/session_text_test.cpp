#include "stores/session_text.hpp"

#include <string>

#include <gtest/gtest.h>

namespace allm::testing::session_text_test {
namespace {

Session session_with(std::vector<Message> messages) { return {.id = "s", .thread = Thread(std::move(messages))}; }

TEST(SessionText, TheTitleIsTheFirstLineOfTheFirstUserText) {
  EXPECT_EQ(title_of({}), "");
  EXPECT_EQ(title_of(session_with({system("Be brief."), user(" \n"), user("\n  Plan a trip \r\nto Rome")})),
            "Plan a trip");
}

TEST(SessionText, ALongTitleEndsBetweenTwoCharacters) {
  std::string text;
  for (int i = 0; i < 100; ++i) text += "ä";
  EXPECT_EQ(title_of(session_with({user(text)})), text.substr(0, 160));
}

TEST(SessionText, SearchSeesUserAssistantAndToolTexts) {
  const std::string text =
      searchable_text(session_with({system("hidden"), user("Weather in Rome?"), assistant("Sunny.")}));
  EXPECT_TRUE(contains_words(text, "rome SUNNY"));
  EXPECT_TRUE(contains_words(text, ""));
  EXPECT_FALSE(contains_words(text, "rome rain"));
  EXPECT_FALSE(contains_words(text, "hidden"));
}

}  // namespace
}  // namespace allm::testing::session_text_test
