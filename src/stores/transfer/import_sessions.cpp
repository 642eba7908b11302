#include <algorithm>
#include <utility>

#include "allm/serialize.hpp"
#include "allm/session_export.hpp"

namespace allm {
namespace {

// The member of the metadata with which a SessionRunner marks a session whose run is going on. The journal of the run
// is not exported, so the run cannot be resumed in another store.
constexpr const char* kRunMark = "allm.run";

Error bad_line(std::string field, std::string reason, std::string message) {
  return validation_error(ValidationError::Reason::invalid_session, {std::move(field)}, std::move(reason),
                          std::move(message));
}

Result<NewSession> read_session(const Json& value) {
  auto session = from_json_value<Session>(value);
  if (!session) return std::unexpected(session.error());
  if (session->metadata.is_object()) session->metadata.erase(kRunMark);
  return NewSession{.session = *std::move(session)};
}

Result<NewSession> read_exported(const Json& line) {
  const Json& version = line.at("allm_export");
  if (version != kSessionExportVersion) {
    return std::unexpected(bad_line("allm_export", "unsupported_version",
                                    "a newer version of allm wrote this line: its version is " + version.dump()));
  }
  const auto session = line.find("session");
  if (session == line.end()) return std::unexpected(bad_line("session", "missing", "the line has no session"));
  const auto tenant = line.find("tenant");
  if (tenant != line.end() && !tenant->is_string()) {
    return std::unexpected(bad_line("tenant", "invalid_type", "the tenant is not a string"));
  }
  auto read = read_session(*session);
  if (read && tenant != line.end()) read->tenant = tenant->get<std::string>();
  return read;
}

Result<NewSession> read_line(std::string_view text) {
  auto line = parse_json(text);
  if (!line) return std::unexpected(line.error());
  if (!line->is_object()) return std::unexpected(bad_line("json", "invalid_type", "the line is not an object"));
  return line->contains("allm_export") ? read_exported(*line) : read_session(*line);
}

Result<std::string> store_session(SessionStore& store, NewSession session, const ImportOptions& options) {
  if (options.tenant) session.tenant = *options.tenant;
  auto created = store.create(session);
  if (created) return created->session.id.value_or("");
  const bool exists = created.error().is<StoreError>(StoreError::Reason::already_exists);
  if (!exists || !options.replace) return std::unexpected(created.error());
  std::string id = session.session.id.value_or("");
  auto committed = store.commit({.session_id = id, .session = std::move(session.session)});
  if (!committed) return std::unexpected(committed.error());
  return id;
}

bool is_failure_of_the_store(const Error& error) {
  using enum StoreError::Reason;
  return std::ranges::any_of(std::initializer_list{unavailable, full, read_only},
                             [&](StoreError::Reason reason) { return error.is<StoreError>(reason); });
}

bool is_blank(std::string_view text) { return text.find_first_not_of(" \t\r\n") == std::string_view::npos; }

// Whether the text is one JSON value that spans several lines: then its first line is not one.
bool is_one_value(std::string_view text) {
  const std::size_t end = text.find('\n');
  return end != std::string_view::npos && !is_blank(text.substr(end)) && !is_blank(text.substr(0, end)) &&
         !parse_json(text.substr(0, end)) && parse_json(text);
}

}  // namespace

ImportReport import_sessions(SessionStore& store, std::string_view text, const ImportOptions& options) {
  ImportReport report;
  const bool whole = is_one_value(text);
  for (std::size_t number = 1; !text.empty() && report.complete; ++number) {
    const std::string_view line = whole ? text : text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(line.size() + 1, text.size()));
    if (is_blank(line)) continue;
    auto session = read_line(line);
    auto id = session ? store_session(store, *std::move(session), options) : std::unexpected(session.error());
    if (id) {
      report.imported.push_back(*std::move(id));
    } else {
      report.complete = !is_failure_of_the_store(id.error());
      report.failures.push_back({number, id.error()});
    }
  }
  return report;
}

}  // namespace allm
