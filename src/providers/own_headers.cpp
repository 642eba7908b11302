#include "providers/own_headers.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "data/ascii.hpp"
#include "providers/provider_errors.hpp"
#include "providers/redact.hpp"

namespace allm {
namespace {

// They describe the connection or the body, which the transport makes.
constexpr std::array<std::string_view, 14> kOfTransport = {"accept-encoding",
                                                           "connection",
                                                           "content-encoding",
                                                           "content-length",
                                                           "content-type",
                                                           "expect",
                                                           "host",
                                                           "keep-alive",
                                                           "proxy-connection",
                                                           "proxy-authorization",
                                                           "te",
                                                           "trailer",
                                                           "transfer-encoding",
                                                           "upgrade"};
constexpr std::array<std::string_view, 7> kSecretNames = {"authorization", "token",      "secret",   "password",
                                                          "cookie",        "credential", "signature"};

bool same_name(std::string_view a, std::string_view b) { return a.size() == b.size() && contains_word(a, b); }

// The characters of a token in RFC 9110.
bool is_name(std::string_view name) {
  return !name.empty() && std::ranges::all_of(name, [](char c) {
    return is_letter(c) || is_digit(c) || std::string_view("!#$%&'*+-.^_`|~").find(c) != std::string_view::npos;
  });
}

// Whether a word of the name is "key", or its last word ends with it (apikey). A part of another word does not count:
// the headers of the gateway Portkey begin with x-portkey-, and most of them are not secret.
bool names_a_key(std::string_view name) {
  while (true) {
    const std::size_t end = std::min(name.find_first_of("-_"), name.size());
    const std::string_view word = name.substr(0, end);
    if (same_name(word, "key")) return true;
    if (end == name.size()) return word.size() > 3 && same_name(word.substr(word.size() - 3), "key");
    name.remove_prefix(end + 1);
  }
}

bool looks_like_key(const HttpHeader& header) {
  return names_a_key(header.name) ||
         std::ranges::any_of(kSecretNames, [&](std::string_view part) { return contains_word(header.name, part); }) ||
         redact(header.value) != header.value;
}

void put(HttpHeaders& headers, const HttpHeader& header) {
  std::erase_if(headers, [&](const HttpHeader& other) { return same_name(other.name, header.name); });
  headers.push_back(header);
}

Error invalid_header(const std::string& name, const std::string& message) {
  const std::string shown_name = shown(name);
  return validation_error(ValidationError::Reason::invalid_option, {std::string("headers"), shown_name},
                          "invalid_value", "invalid option: the header '" + shown_name + "' " + message);
}

}  // namespace

bool is_header_value(std::string_view value) {
  return std::ranges::none_of(value, [](char c) {
    const auto byte = static_cast<unsigned char>(c);
    return (byte < 0x20 && c != '\t') || byte == 0x7F;
  });
}

Status check_values(const HttpHeaders& headers) {
  for (const HttpHeader& header : headers) {
    if (is_header_value(header.value)) continue;
    return std::unexpected(
        invalid_header(header.name, "has a line break or another control character in its value: remove it"));
  }
  return {};
}

OwnHeaders::OwnHeaders(const HttpHeaders& headers) {
  headers_.push_back({"User-Agent", "allm/" ALLM_VERSION});
  for (const HttpHeader& header : headers) {
    put(headers_, header);
    if (looks_like_key(header)) add_secrets(header);
  }
}

void OwnHeaders::add_secrets(const HttpHeader& header) {
  constexpr std::string_view kSeparators = " \t,;=\"";
  constexpr std::size_t kShortest = 8;  // shorter words are placeholders and names of schemes, such as Bearer
  std::string_view rest = header.value;
  while (!rest.empty()) {
    const std::size_t end = std::min(rest.find_first_of(kSeparators), rest.size());
    if (end >= kShortest) secrets_.emplace_back(std::string(rest.substr(0, end)));
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  if (secret_name_.empty() && !secrets_.empty()) secret_name_ = header.name;
}

Status OwnHeaders::check() const {
  for (const HttpHeader& header : headers_) {
    if (!is_name(header.name)) return std::unexpected(invalid_header(header.name, "is not a valid name of a header"));
    if (std::ranges::any_of(kOfTransport, [&](std::string_view name) { return same_name(header.name, name); })) {
      return std::unexpected(invalid_header(header.name, "is set by allm itself: leave it out"));
    }
  }
  return check_values(headers_);
}

void OwnHeaders::add_to(HttpHeaders& headers) const {
  for (const HttpHeader& header : headers_) put(headers, header);
}

Error OwnHeaders::without_secrets(Error error) const {
  for (const ApiKey& secret : secrets_) error = without_value(error, secret.reveal());
  return error;
}

}  // namespace allm
