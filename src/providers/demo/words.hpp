// What the demo model finds in texts: words, and pieces that may be arguments.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace allm::demo_model {

struct Word {
  std::string_view text;  // of the text that was read
  std::size_t begin = 0;  // its place in that text
  std::string stem;       // in lower case, without a usual English ending: "cities" and "city" have the same

  std::size_t end() const { return begin + text.size(); }
};

// Words have letters, digits and bytes of characters outside of ASCII. Names like get_weather and getWeather have two.
std::vector<Word> words_of(std::string_view text);
// Words that say nothing about the subject: "the", "please", "what".
bool is_filler(const Word& word);
// Words that introduce an argument: "in", "for", "from".
bool is_preposition(const Word& word);

// Each function below returns the pieces in the order of the text.
std::vector<std::string> quoted_texts(std::string_view text);
// Numbers with an optional sign and fraction, as they are written.
std::vector<std::string> numbers_in(std::string_view text);
std::vector<std::string> urls_in(std::string_view text);
// Words with a slash, a file name's ending, or a leading dot or tilde.
std::vector<std::string> paths_in(std::string_view text);
// Words that begin with a capital letter, neighbours joined: "New York". The first word of a sentence is none, unless
// it follows a preposition.
std::vector<std::string> names_in(std::string_view text);
// The arithmetic expression in the text: "2 * (3 + 4)". Empty if there is none.
std::string expression_in(std::string_view text);

// Removes spaces and punctuation at both ends.
std::string_view trimmed(std::string_view text);

}  // namespace allm::demo_model
