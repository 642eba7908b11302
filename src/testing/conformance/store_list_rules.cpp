// Rules of list and search.
#include <algorithm>
#include <map>

#include "testing/conformance/store_check.hpp"

namespace allm::conformance {
namespace {

// Creates sessions "0", "1", … of the tenant, each later than the one before.
std::vector<std::string> create_in_order(StoreCheck& check, const std::string& tenant, std::size_t count) {
  std::vector<std::string> ids;
  for (std::size_t i = 0; i < count; ++i) {
    ids.push_back(check.create(std::to_string(i), tenant));
    StoreCheck::next_millisecond();
  }
  return ids;
}

std::vector<std::string> titles_of(const SessionPage& page) {
  std::vector<std::string> titles;
  titles.reserve(page.sessions.size());
  for (const SessionSummary& summary : page.sessions) titles.push_back(summary.title);
  return titles;
}

std::vector<std::string> search(StoreCheck& check, const std::string& tenant, const std::string& text) {
  std::vector<std::string> titles =
      titles_of(check.value(check.b().list({.text = text, .tenant = tenant}), "a search for " + text));
  std::ranges::sort(titles);
  return titles;
}

using Titles = std::vector<std::string>;

void the_latest_change_is_listed_first(StoreCheck& check) {
  const std::string tenant = check.own("tenant");
  const auto ids = create_in_order(check, tenant, 3);
  check.expect(titles_of(check.value(check.b().list({.tenant = tenant}), "list")) == Titles{"2", "1", "0"},
               "list does not return the newest session first");
  check.value(check.a().commit({.session_id = ids.at(0), .session = session_saying("0")}), "commit");
  StoreCheck::next_millisecond();
  check.value(check.a().commit(append_commit(ids.at(1), {"x"})), "commit");
  check.expect(titles_of(check.value(check.b().list({.tenant = tenant}), "list")) == Titles{"0", "2", "1"},
               "a change of a session does not move it to the top of the list, or an entry of its log does");
}

void summaries_describe_the_session(StoreCheck& check) {
  Session session{.thread = Thread({system("Be brief."), user("Plan a trip\nto Rome"), assistant("When?")}),
                  .status = SessionStatus::awaiting_user};
  const StoredSession stored = check.create({.session = session, .tenant = check.own("tenant")});
  const auto page = check.value(check.b().list({.tenant = check.own("tenant")}), "list");
  check.expect(page.sessions.size() == 1 && page.next.empty(), "list of one tenant does not return its one session");
  if (page.sessions.empty()) return;
  const SessionSummary& summary = page.sessions[0];
  check.expect(summary.id == stored.session.id && summary.title == "Plan a trip" && summary.messages == 3 &&
                   summary.status == SessionStatus::awaiting_user && summary.tenant == check.own("tenant") &&
                   summary.version == 1 && summary.created_at == stored.created_at &&
                   summary.updated_at == stored.updated_at,
               "a summary differs from its session");
}

void pages_are_complete(StoreCheck& check) {
  const std::string tenant = check.own("tenant");
  create_in_order(check, tenant, 7);
  Titles titles;
  SessionQuery query{.tenant = tenant, .limit = 3};
  for (const std::size_t size : {3U, 3U, 1U}) {
    const auto page = check.value(check.b().list(query), "list");
    check.expect(page.sessions.size() == size, "a page has a wrong number of sessions");
    check.expect(page.next.empty() == (size == 1), "`next` is not empty exactly on the last page");
    std::ranges::copy(titles_of(page), std::back_inserter(titles));
    query.after = page.next;
  }
  check.expect(titles == Titles{"6", "5", "4", "3", "2", "1", "0"}, "the pages together are not the whole list");
  query = {.tenant = tenant, .limit = 7};
  check.expect(check.value(check.b().list(query), "list").next.empty(), "a full last page has a next one");
}

void paging_survives_changes(StoreCheck& check) {
  const std::string tenant = check.own("tenant");
  const auto ids = create_in_order(check, tenant, 6);
  std::map<std::string, int> seen;
  SessionQuery query{.tenant = tenant, .limit = 2};
  for (int number = 0; number < 10; ++number) {
    const auto page = check.value(check.b().list(query), "list");
    for (const std::string& title : titles_of(page)) ++seen[title];
    query.after = page.next;
    if (page.next.empty()) break;
    // After the first page, with 5 and 4, one of them changes and a new session is made; after the second, with 3 and
    // 2, one of them is removed.
    if (number == 0) {
      check.value(check.a().commit({.session_id = ids.at(5), .session = session_saying("5")}), "commit");
      create_in_order(check, tenant, 1);
    } else if (number == 1) {
      check.done(check.a().remove(ids.at(3)), "remove");
    }
  }
  check.expect(query.after.empty(), "the list has no last page");
  for (const char* title : {"1", "2", "3", "4", "5"}) {
    check.expect(seen[title] == 1, "after changes between two pages, a session is missing or listed twice");
  }
  check.expect(seen["0"] >= 1, "after changes between two pages, a session is missing");
}

void lists_are_filtered(StoreCheck& check) {
  const std::string tenant = check.own("tenant");
  check.create("other", check.own("other"));
  for (const SessionStatus status : {SessionStatus::idle, SessionStatus::completed, SessionStatus::error}) {
    Session session = session_saying(std::string(to_string(status)));
    session.status = status;
    check.create({.session = session, .tenant = tenant});
  }
  const auto page = check.value(check.b().list({.status = SessionStatus::error, .tenant = tenant}), "list");
  check.expect(titles_of(page) == Titles{"error"}, "list by status and tenant does not return exactly the session");
  check.expect(check.value(check.b().list({.tenant = ""}), "list").sessions.empty() ||
                   check.value(check.b().list({.tenant = ""}), "list").sessions[0].tenant.empty(),
               "list of the tenant \"\" returns sessions of other tenants");
}

void search_finds_words(StoreCheck& check) {
  const std::string tenant = check.own("tenant");
  const std::string id = check.create("Weather in Rome", tenant);
  check.create("Weather in Oslo", tenant);
  check.create({.session = {.thread = Thread({system("kangaroo"), user("Numbers"), assistant("koala weather")})},
                .tenant = tenant});
  check.expect(search(check, tenant, "weather") == Titles{"Numbers", "Weather in Oslo", "Weather in Rome"},
               "a search does not find a word in user and assistant messages");
  for (const char* words : {"ROME weather", "Weather rome"}) {
    check.expect(search(check, tenant, words) == Titles{"Weather in Rome"},
                 "a search for two words does not find exactly the session that has both, in any order and case");
  }
  check.expect(search(check, tenant, "kangaroo").empty(), "a search finds a word of a system message");
  check.expect(search(check, tenant, "  ").size() == 3, "a search without a word does not return all sessions");
  check.value(check.a().commit({.session_id = id, .session = session_saying("Weather in Paris")}), "commit");
  check.expect(search(check, tenant, "rome").empty(), "a search finds a text that has been replaced");
  check.expect(search(check, tenant, "paris") == Titles{"Weather in Paris"}, "a search does not find a new text");
}

void search_words_are_not_operators(StoreCheck& check) {
  const std::string tenant = check.own("tenant");
  check.create("apple or pear", tenant);
  check.create("apple", tenant);
  check.expect(search(check, tenant, "apple OR pear") == Titles{"apple or pear"}, "OR in a search is an operator");
  for (const char* text :
       {"\"", "'", "apple\"", "apple AND", "NOT", "NEAR(", "*",         "apple*", "(",   ")", "a:b", "^x", "-apple",
        "%",  "_", "\\",      "&",         "|",   "!",     "apple & !", "<->",    ";--", "{", "+",   "é",  "🎉"}) {
    check.value(check.b().list({.text = text, .tenant = tenant}), std::string("a search for ") + text);
  }
}

}  // namespace

std::vector<StoreRule> store_list_rules() {
  return {{"the_latest_change_is_listed_first", the_latest_change_is_listed_first},
          {"summaries_describe_the_session", summaries_describe_the_session},
          {"pages_are_complete", pages_are_complete},
          {"paging_survives_changes", paging_survives_changes},
          {"lists_are_filtered", lists_are_filtered},
          {"search_finds_words", search_finds_words},
          {"search_words_are_not_operators", search_words_are_not_operators}};
}

}  // namespace allm::conformance
