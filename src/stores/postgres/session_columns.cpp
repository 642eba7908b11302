#include "stores/postgres/session_columns.hpp"

#include <algorithm>

#include "allm/serialize.hpp"

#include "stores/postgres/search_words.hpp"
#include "stores/session_text.hpp"

namespace allm::postgres {

void SessionColumns::add_to(Arguments& arguments) const {
  arguments.text(std::string_view(body)).text(std::string_view(status)).text(std::string_view(title));
  arguments.number(messages).text(std::string_view(words));
}

Result<SessionColumns> columns_of(const Session& session) {
  Result<std::string> body = to_json(session);
  if (!body) return std::unexpected(body.error());
  SessionColumns columns{.body = *std::move(body),
                         .status = std::string(to_string(session.status)),
                         .title = title_of(session),
                         .messages = static_cast<std::int64_t>(session.thread.messages.size()),
                         .words = search_words(searchable_text(session))};
  std::ranges::replace(columns.title, '\0', ' ');  // JSON escapes it; a column cannot have it
  return columns;
}

}  // namespace allm::postgres
