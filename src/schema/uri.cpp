#include "schema/uri.hpp"

#include <algorithm>
#include <charconv>
#include <optional>

#include "data/ascii.hpp"

namespace allm::schema_detail {
namespace {

struct Parts {
  std::optional<std::string_view> scheme;
  std::optional<std::string_view> authority;
  std::string_view path;
  std::optional<std::string_view> query;
};

bool is_scheme(std::string_view text) {
  return !text.empty() && is_letter(text.front()) && std::ranges::all_of(text, [](char c) {
    return is_letter(c) || (c >= '0' && c <= '9') || c == '+' || c == '-' || c == '.';
  });
}

Parts parse(std::string_view uri) {
  Parts parts;
  const std::size_t colon = uri.find_first_of(":/?");
  if (colon != std::string_view::npos && uri[colon] == ':' && is_scheme(uri.substr(0, colon))) {
    parts.scheme = uri.substr(0, colon);
    uri.remove_prefix(colon + 1);
  }
  if (const std::size_t question = uri.find('?'); question != std::string_view::npos) {
    parts.query = uri.substr(question + 1);
    uri = uri.substr(0, question);
  }
  if (uri.starts_with("//")) {
    const std::size_t slash = std::min(uri.find('/', 2), uri.size());
    parts.authority = uri.substr(2, slash - 2);
    uri.remove_prefix(slash);
  }
  parts.path = uri;
  return parts;
}

std::string remove_dot_segments(std::string_view path) {
  std::string result;
  while (!path.empty()) {
    if (path.starts_with("../")) {
      path.remove_prefix(3);
    } else if (path.starts_with("./")) {
      path.remove_prefix(2);
    } else if (path.starts_with("/./")) {
      path.remove_prefix(2);
    } else if (path == "/.") {
      path = "/";
    } else if (path.starts_with("/../") || path == "/..") {
      path = path == "/.." ? std::string_view("/") : path.substr(3);
      const std::size_t slash = result.rfind('/');
      result.resize(slash == std::string::npos ? 0 : slash);
    } else if (path == "." || path == "..") {
      break;
    } else {
      const std::size_t end = std::min(path.find('/', 1), path.size());
      result += path.substr(0, end);
      path.remove_prefix(end);
    }
  }
  return result;
}

std::string merge(const Parts& base, std::string_view path) {
  if (base.authority && base.path.empty()) return "/" + std::string(path);
  const std::size_t slash = base.path.rfind('/');
  const std::size_t keep = slash == std::string_view::npos ? 0 : slash + 1;
  return std::string(base.path.substr(0, keep)) + std::string(path);
}

std::string compose(const Parts& parts) {
  std::string result;
  if (parts.scheme) (result += *parts.scheme) += ':';
  if (parts.authority) (result += "//") += *parts.authority;
  result += parts.path;
  if (parts.query) (result += '?') += *parts.query;
  return result;
}

}  // namespace

SplitUri split_fragment(std::string_view uri) {
  const std::size_t hash = uri.find('#');
  if (hash == std::string_view::npos) return {uri, {}};
  return {uri.substr(0, hash), uri.substr(hash + 1)};
}

std::string resolve_uri(std::string_view base, std::string_view reference) {
  const Parts from = parse(split_fragment(base).resource);
  const auto [resource, fragment] = split_fragment(reference);
  Parts to = parse(resource);
  std::string path;
  if (to.scheme || to.authority) {
    path = remove_dot_segments(to.path);
    if (!to.scheme) to.scheme = from.scheme;
  } else {
    if (to.path.empty()) {
      path = from.path;
      if (!to.query) to.query = from.query;
    } else {
      path = remove_dot_segments(to.path.starts_with('/') ? std::string(to.path) : merge(from, to.path));
    }
    to.authority = from.authority;
    to.scheme = from.scheme;
  }
  to.path = path;
  std::string result = compose(to);
  if (!fragment.empty()) (result += '#') += fragment;
  return result;
}

std::string percent_decode(std::string_view text) {
  std::string result;
  result.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    unsigned value = 0;
    if (text[i] == '%' && i + 2 < text.size() &&
        std::from_chars(text.data() + i + 1, text.data() + i + 3, value, 16).ptr == text.data() + i + 3) {
      result += static_cast<char>(value);
      i += 2;
    } else {
      result += text[i];
    }
  }
  return result;
}

}  // namespace allm::schema_detail
