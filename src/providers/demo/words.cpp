#include "providers/demo/words.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <optional>

namespace allm::demo_model {
namespace {

bool is_upper(char c) { return c >= 'A' && c <= 'Z'; }
bool is_lower(char c) { return c >= 'a' && c <= 'z'; }
bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_space(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }
// Bytes of characters outside of ASCII count as letters.
bool is_letter(char c) { return is_upper(c) || is_lower(c) || static_cast<unsigned char>(c) >= 0x80U; }
bool is_word(char c) { return is_letter(c) || is_digit(c); }

template <std::size_t size>
bool contains(const std::array<std::string_view, size>& words, std::string_view word) {
  return std::ranges::find(words, word) != words.end();
}

std::string stem_of(std::string_view word) {
  std::string stem(word);
  std::ranges::transform(stem, stem.begin(), [](char c) { return is_upper(c) ? static_cast<char>(c + 32) : c; });
  const auto strip = [&](std::string_view ending, std::size_t kept, std::string_view replacement = "") {
    if (stem.size() < ending.size() + kept || !stem.ends_with(ending)) return false;
    stem.replace(stem.size() - ending.size(), ending.size(), replacement);
    return true;
  };
  if (strip("ies", 2, "y") || strip("ing", 3) || strip("ed", 3)) {
  } else if (!stem.ends_with("ss")) {
    strip("s", 3);
  }
  strip("e", 3);  // "calculate" and "calculating"
  return stem;
}

// The parts of a text between spaces, without punctuation at their ends.
std::vector<std::string_view> spaced_parts(std::string_view text) {
  std::vector<std::string_view> parts;
  for (std::size_t at = 0; at < text.size();) {
    const auto begin = static_cast<std::size_t>(std::ranges::find_if_not(text.substr(at), is_space) - text.begin());
    const auto end = static_cast<std::size_t>(std::ranges::find_if(text.substr(begin), is_space) - text.begin());
    std::string_view part = text.substr(begin, end - begin);
    while (!part.empty() && std::string_view(",;:!?)\"'`").find(part.back()) != std::string_view::npos) {
      part.remove_suffix(1);
    }
    if (part.ends_with('.')) part.remove_suffix(1);
    while (!part.empty() && std::string_view("(\"'`").find(part.front()) != std::string_view::npos) {
      part.remove_prefix(1);
    }
    if (!part.empty()) parts.push_back(part);
    at = end;
  }
  return parts;
}

bool is_url(std::string_view part) { return part.starts_with("http://") || part.starts_with("https://"); }

bool is_path(std::string_view part) {
  if (is_url(part) || part.size() < 2) return false;
  if (part.starts_with("~/") || part.starts_with("./") || part.starts_with("../") || part == "..") return true;
  if (part.find('/') != std::string_view::npos) return std::ranges::any_of(part, is_letter);
  const std::size_t dot = part.rfind('.');
  if (dot == std::string_view::npos || dot == 0) return false;
  const std::string_view ending = part.substr(dot + 1);
  constexpr std::size_t kLongestEnding = 5;
  return !ending.empty() && ending.size() <= kLongestEnding && std::ranges::all_of(ending, is_word) &&
         std::ranges::any_of(ending, is_letter) && is_word(part.front());
}

}  // namespace

std::vector<Word> words_of(std::string_view text) {
  std::vector<Word> words;
  for (std::size_t at = 0; at < text.size();) {
    if (!is_word(text[at])) {
      ++at;
      continue;
    }
    std::size_t end = at + 1;
    // A capital letter after a small one begins a new word: getWeather.
    while (end < text.size() && is_word(text[end]) && !(is_upper(text[end]) && is_lower(text[end - 1]))) ++end;
    const std::string_view word = text.substr(at, end - at);
    words.push_back({.text = word, .begin = at, .stem = stem_of(word)});
    at = end;
  }
  return words;
}

bool is_filler(const Word& word) {
  static constexpr std::array<std::string_view, 74> kFillers = {
      "a",     "about", "all",  "also", "am",   "an",   "and",   "any",  "are",   "as",    "at",   "be",   "by",
      "can",   "could", "do",   "doe",  "for",  "from", "get",   "giv",  "hav",   "hello", "hey",  "hi",   "how",
      "i",     "if",    "in",   "into", "is",   "it",   "its",   "just", "know",  "let",   "like", "me",   "my",
      "need",  "not",   "now",  "of",   "on",   "one",  "or",    "our",  "pleas", "plea",  "s",    "show", "so",
      "some",  "tell",  "that", "the",  "them", "then", "ther",  "thi",  "this",  "to",    "too",  "us",   "use",
      "using", "valu",  "want", "was",  "we",   "what", "which", "with", "you"};
  return contains(kFillers, word.stem);
}

bool is_preposition(const Word& word) {
  static constexpr std::array<std::string_view, 12> kPrepositions = {"in",    "for", "of",   "at",   "from", "to",
                                                                     "about", "on",  "near", "with", "into", "by"};
  return contains(kPrepositions, word.stem);
}

std::string_view trimmed(std::string_view text) {
  const auto is_outer = [](char c) {
    return is_space(c) || std::string_view(",;:.!?\"'`").find(c) != std::string_view::npos;
  };
  while (!text.empty() && is_outer(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_outer(text.back())) text.remove_suffix(1);
  return text;
}

std::vector<std::string> quoted_texts(std::string_view text) {
  std::vector<std::string> found;
  for (std::size_t at = 0; at < text.size(); ++at) {
    const char quote = text[at];
    const bool is_quote = quote == '"' || quote == '`' || quote == '\'';
    // The apostrophe of "what's" opens nothing.
    if (!is_quote || (at > 0 && is_word(text[at - 1]))) continue;
    const std::size_t end = text.find(quote, at + 1);
    if (end == std::string_view::npos || end == at + 1) continue;
    found.emplace_back(text.substr(at + 1, end - at - 1));
    at = end;
  }
  return found;
}

std::vector<std::string> numbers_in(std::string_view text) {
  std::vector<std::string> found;
  for (std::size_t at = 0; at < text.size();) {
    if (!is_digit(text[at]) || (at > 0 && is_word(text[at - 1]))) {
      ++at;
      continue;
    }
    const bool has_sign = at > 0 && text[at - 1] == '-' && (at == 1 || is_space(text[at - 2]) || text[at - 2] == '(');
    std::size_t end = at;
    while (end < text.size() && is_digit(text[end])) ++end;
    if (end + 1 < text.size() && text[end] == '.' && is_digit(text[end + 1])) {
      ++end;
      while (end < text.size() && is_digit(text[end])) ++end;
    }
    if (end == text.size() || !is_letter(text[end]))
      found.emplace_back(text.substr(has_sign ? at - 1 : at, end - at + (has_sign ? 1 : 0)));
    at = end + 1;
  }
  return found;
}

std::vector<std::string> urls_in(std::string_view text) {
  std::vector<std::string> found;
  for (const std::string_view part : spaced_parts(text)) {
    if (is_url(part)) found.emplace_back(part);
  }
  return found;
}

std::vector<std::string> paths_in(std::string_view text) {
  std::vector<std::string> found;
  for (const std::string_view part : spaced_parts(text)) {
    if (is_path(part)) found.emplace_back(part);
  }
  return found;
}

std::vector<std::string> names_in(std::string_view text) {
  std::vector<std::string> found;
  const std::vector<Word> words = words_of(text);
  std::size_t last_end = 0;
  for (std::size_t i = 0; i < words.size(); ++i) {
    const Word& word = words[i];
    const std::string_view between =
        text.substr(i == 0 ? 0 : words[i - 1].end(), word.begin - (i == 0 ? 0 : words[i - 1].end()));
    const bool begins_sentence = i == 0 || between.find_first_of(".!?\n") != std::string_view::npos;
    const bool is_name = is_upper(word.text.front()) && !is_filler(word) && word.text.size() > 1;
    if (!is_name || begins_sentence) continue;
    if (!found.empty() && last_end != 0 && between == " " && last_end == words[i - 1].end()) {
      found.back() += " " + std::string(word.text);
    } else {
      found.emplace_back(word.text);
    }
    last_end = word.end();
  }
  return found;
}

std::string expression_in(std::string_view text) {
  static constexpr std::string_view kOperators = "+-*/^%";
  std::string_view longest;
  for (std::size_t at = 0; at < text.size();) {
    const auto belongs = [&](char c) {
      return is_digit(c) || c == '.' || c == ' ' || c == '(' || c == ')' ||
             kOperators.find(c) != std::string_view::npos;
    };
    std::size_t end = at;
    while (end < text.size() && belongs(text[end])) ++end;
    std::string_view piece = text.substr(at, end - at);
    while (!piece.empty() && std::string_view(" .*/^%+").find(piece.front()) != std::string_view::npos)
      piece.remove_prefix(1);
    while (!piece.empty() && !is_digit(piece.back()) && piece.back() != ')') piece.remove_suffix(1);
    const bool computes = std::ranges::count_if(piece, is_digit) >= 2 &&
                          piece.substr(1).find_first_of(kOperators) != std::string_view::npos;
    if (computes && piece.size() > longest.size()) longest = piece;
    at = std::max(end, at + 1);
  }
  return std::string(longest);
}

}  // namespace allm::demo_model
