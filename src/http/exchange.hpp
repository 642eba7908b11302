// One HTTP exchange as data: what is sent, and the head of what comes back. Values; no thread rules.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace allm {

struct HttpHeader {
  std::string name;
  std::string value;
  bool operator==(const HttpHeader&) const = default;
};
using HttpHeaders = std::vector<HttpHeader>;

// The value of the first header of that name, ignoring case; null if there is none.
const std::string* find_header(const HttpHeaders& headers, std::string_view name);

// Always a POST: no provider needs anything else.
struct HttpRequest {
  std::string url = {};
  HttpHeaders headers = {};  // a codec leaves the key out; it is added when the request is sent
  std::string body = {};
};

struct HttpResponseHead {
  int status = 0;
  HttpHeaders headers = {};
};

}  // namespace allm
