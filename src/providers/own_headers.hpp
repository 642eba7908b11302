// The headers that a program adds to every request of an adapter, and the User-Agent. Immutable; safe to call from any
// thread.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "allm/error.hpp"
#include "allm/keys.hpp"

#include "http/exchange.hpp"

namespace allm {

// Whether the text has no line breaks and no other control characters, which could begin another header.
bool is_header_value(std::string_view value);
// Fails with ValidationError `invalid_option` if a value is not one. The message does not show the value.
Status check_values(const HttpHeaders& headers);

class OwnHeaders {
 public:
  // A header replaces an earlier one of the same name.
  explicit OwnHeaders(const HttpHeaders& headers);

  // Fails with ValidationError `invalid_option` and the header as path: its name is not a valid name, the transport
  // sets this header itself, or the value has control characters. The message does not show the value.
  Status check() const;
  bool has(std::string_view name) const { return find_header(headers_, name) != nullptr; }
  // Adds the headers to a request. They replace headers of the same name.
  void add_to(HttpHeaders& headers) const;

  // Whether one of the headers looks like a key: by its name, or because its value has the form of a provider's key.
  bool has_secret() const { return !secrets_.empty(); }
  // The name of the first of them.
  const std::string& secret_name() const { return secret_name_; }
  Error without_secrets(Error error) const;

 private:
  void add_secrets(const HttpHeader& header);

  HttpHeaders headers_;
  std::vector<ApiKey> secrets_;
  std::string secret_name_;
};

}  // namespace allm
