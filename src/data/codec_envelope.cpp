#include "data/codec_envelope.hpp"

#include <charconv>

#include <fmt/format.h>

#include "allm/serialize.hpp"

namespace allm::codec {

namespace {

// The major part of "major.minor", or nothing if the text is not that.
std::optional<unsigned> major_version(std::string_view version) {
  const char* end = version.data() + version.size();
  unsigned major = 0;
  unsigned minor = 0;
  const auto first = std::from_chars(version.data(), end, major);
  if (first.ec != std::errc() || first.ptr == end || *first.ptr != '.') return std::nullopt;
  const auto second = std::from_chars(first.ptr + 1, end, minor);
  if (second.ec != std::errc() || second.ptr != end) return std::nullopt;
  return major;
}

}  // namespace

bool fail_tag(Reader& reader, std::string_view expected, std::string_view found) {
  return reader.fail("unknown_type_tag", fmt::format("expected {}, but the tag is \"{:.64}\"", expected, found));
}

bool is_error_tag(std::string_view tag) {
  return tag == kTag<EngineError> || tag == kTag<AdapterError> || tag == kTag<StreamError> ||
         tag == kTag<ValidationError> || tag == kTag<ToolError> || tag == kTag<SessionError> || tag == kTag<StoreError>;
}

bool check_version(Reader& reader, std::string_view version) {
  const std::optional<unsigned> major = major_version(version);
  if (!major.has_value()) {
    return reader.fail("malformed", fmt::format("\"{:.64}\" is no version; expected one such as \"{}\"", version,
                                                kSessionFormatVersion));
  }
  if (*major == major_version(kSessionFormatVersion)) return true;
  return reader.fail("unsupported_version",
                     fmt::format("the session has format {}, but this version of allm reads {} only; use one that "
                                 "knows the format",
                                 version, kSessionFormatVersion));
}

}  // namespace allm::codec
