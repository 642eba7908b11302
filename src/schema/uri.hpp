// The part of RFC 3986 that identifiers in a schema need.
#pragma once

#include <string>
#include <string_view>

namespace allm::schema_detail {

// A URI or a relative reference, without and with its fragment: "a#b" is {"a", "b"}.
struct SplitUri {
  std::string_view resource;
  std::string_view fragment;
};
SplitUri split_fragment(std::string_view uri);

// Resolves a reference against a base (section 5.2). The base may itself be relative or empty, as it is in a document
// without `$id`. Fragments of the base are dropped and that of the reference is kept.
std::string resolve_uri(std::string_view base, std::string_view reference);

// Undoes %XX; a percent sign that starts no such triplet stays.
std::string percent_decode(std::string_view text);

}  // namespace allm::schema_detail
