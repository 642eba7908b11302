#include "providers/redact.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "allm/json.hpp"

namespace allm {
namespace {

constexpr std::string_view kMark = "[REDACTED]";
constexpr std::size_t kMinSecret = 6;
constexpr std::size_t kMinKey = 8;

bool is_word(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_'; }
// Providers mask the middle of a key with asterisks; the ends are secret, too.
bool is_secret(char c) { return is_word(c) || c == '-' || c == '*'; }

struct Pattern {
  std::string_view prefix;
  bool word_initial;
  bool dots;
};
constexpr std::array<Pattern, 8> kPatterns = {{
    {.prefix = "sk-ant-", .word_initial = false, .dots = false},
    {.prefix = "sk-", .word_initial = true, .dots = false},
    {.prefix = "rk-", .word_initial = true, .dots = false},
    {.prefix = "org-", .word_initial = true, .dots = false},
    {.prefix = "gsk_", .word_initial = true, .dots = false},
    {.prefix = "xai-", .word_initial = true, .dots = false},
    {.prefix = "AIza", .word_initial = false, .dots = false},
    {.prefix = "ya29.", .word_initial = false, .dots = true},
}};

constexpr bool is_initial(char c) {
  return std::ranges::any_of(kPatterns, [c](const Pattern& pattern) { return pattern.prefix.front() == c; });
}

// The length of the secret at the front of `text`, 0 if there is none.
std::size_t secret_length(std::string_view text, bool word_initial) {
  for (const Pattern& pattern : kPatterns) {
    if (!text.starts_with(pattern.prefix) || (pattern.word_initial && !word_initial)) continue;
    std::size_t end = pattern.prefix.size();
    while (end < text.size() && (is_secret(text[end]) || (pattern.dots && text[end] == '.'))) ++end;
    if (end - pattern.prefix.size() >= kMinSecret) return end;
  }
  return 0;
}

struct Secret {
  std::size_t begin;
  std::size_t end;
};

std::vector<Secret> find_secrets(std::string_view text, std::string_view provider_key) {
  const std::size_t key_size = provider_key.size() >= kMinKey ? provider_key.size() : 0;
  std::size_t next_key = key_size > 0 ? text.find(provider_key) : std::string_view::npos;
  std::vector<Secret> secrets;
  std::size_t at = 0;
  while (at < text.size()) {
    if (next_key < at) next_key = text.find(provider_key, at);
    std::size_t length = 0;
    if (at == next_key) {
      length = key_size;
    } else if (const char c = text[at]; is_initial(c)) {
      // The text after a secret begins a word, as it will after the replacement, so that redacting twice changes
      // nothing.
      const bool after_secret = !secrets.empty() && secrets.back().end == at;
      length = secret_length(text.substr(at), at == 0 || after_secret || !is_word(text[at - 1]));
    } else if (c == '[' && text.substr(at).starts_with(kMark)) {
      at += kMark.size();
      continue;
    }
    if (length > 0) secrets.push_back({.begin = at, .end = at + length});
    at += length > 0 ? length : 1;
  }
  return secrets;
}

// The secret part of a key: without the prefix up to the last dash, which names the provider.
std::string_view secret_of(std::string_view key) {
  constexpr std::size_t kLongestPrefix = 16;
  const std::size_t dash = key.substr(0, kLongestPrefix).find_last_of("-_");
  const std::string_view rest = dash == std::string_view::npos ? key : key.substr(dash + 1);
  return rest.size() >= kMinKey ? rest : key;
}

// The text with every part of the key redacted that is longer than a part that may be shown.
std::string without_parts(std::string_view text, std::string_view key) {
  constexpr std::size_t kTooMuch = 5;
  const std::string_view secret = secret_of(key);
  std::string result;
  std::size_t at = 0;
  while (at < text.size()) {
    std::size_t length = kTooMuch;
    if (at + length > text.size() || secret.find(text.substr(at, length)) == std::string_view::npos) {
      result += text[at++];
      continue;
    }
    while (at + length < text.size() && secret.find(text.substr(at, length + 1)) != std::string_view::npos) ++length;
    result += kMark;
    at += length;
  }
  return result;
}

}  // namespace

std::string redact(std::string_view text, std::string_view provider_key) {
  std::string result;
  std::size_t done = 0;
  for (const Secret& secret : find_secrets(text, provider_key)) {
    result.append(text, done, secret.begin - done).append(kMark);
    done = secret.end;
  }
  return result.append(text, done);
}

void redact_pieces(std::span<std::string* const> pieces, std::string_view provider_key) {
  std::string text;
  for (const std::string* piece : pieces) text += *piece;
  const std::vector<Secret> secrets = find_secrets(text, provider_key);
  if (secrets.empty()) return;
  auto secret = secrets.begin();
  std::size_t begin = 0;
  for (std::string* piece : pieces) {
    const std::size_t end = begin + piece->size();
    std::string result;
    std::size_t done = begin;
    while (secret != secrets.end() && secret->begin < end) {
      if (secret->begin >= begin) result.append(text, done, secret->begin - done).append(kMark);
      done = std::min(secret->end, end);
      if (secret->end > end) break;  // the secret continues in the next piece
      ++secret;
    }
    *piece = std::move(result.append(text, done, end - done));
    begin = end;
  }
}

namespace {

Error without(const Error& error, std::string_view key, bool parts) {
  if (key.size() < kMinKey) return error;
  const auto cleaned = [key, parts](std::string_view text) {
    return parts ? without_parts(redact(text, key), key) : redact(text, key);
  };
  const auto cleaned_json = [&cleaned](const Json& json) {
    // A key contains no characters that JSON escapes, so the text is valid JSON after the replacement.
    Json parsed = Json::parse(cleaned(json.dump(-1, ' ', false, Json::error_handler_t::replace)), nullptr, false);
    // A number that contains the key.
    return parsed.is_discarded() ? Json::object() : parsed;
  };
  const auto* adapter = error.get_if<AdapterError>();
  const bool in_id = adapter != nullptr && adapter->request_id && cleaned(*adapter->request_id) != *adapter->request_id;
  std::string message = cleaned(error.message());
  Json metadata = cleaned_json(error.metadata());
  Json cause = cleaned_json(error.reported_cause());
  if (!in_id && message == error.message() && metadata == error.metadata() && cause == error.reported_cause())
    return error;
  return std::visit(
      [&](auto detail) {
        if constexpr (std::is_same_v<decltype(detail), AdapterError>) {
          if (in_id) detail.request_id.reset();
        }
        return Error(std::move(detail), std::move(message), std::move(metadata), std::move(cause));
      },
      error.detail());
}

}  // namespace

Error without_key(const Error& error, std::string_view key) { return without(error, key, true); }

Error without_value(const Error& error, std::string_view value) {
  constexpr std::size_t kLongEnough = 20;
  const bool is_like_key = value.size() >= kLongEnough && value.find_first_of("0123456789") != std::string_view::npos;
  return without(error, value, is_like_key);
}

}  // namespace allm
