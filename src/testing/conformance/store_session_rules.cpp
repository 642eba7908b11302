// Rules of create, load and remove.
#include <limits>

#include "testing/conformance/store_check.hpp"

namespace allm::conformance {
namespace {

void another_handle_sees_the_session(StoreCheck& check) {
  const StoredSession made = check.create({.session = session_saying("hello"), .tenant = "conformance"});
  const StoredSession loaded = check.value(check.b().load(made.session.id.value_or("")), "load with another handle");
  check.expect(loaded.session == made.session && loaded.version == made.version && loaded.tenant == made.tenant,
               "a session loaded with another handle differs from the one that was created");
  check.expect(loaded.created_at == made.created_at && loaded.updated_at == made.updated_at,
               "the times of a loaded session differ from those that create returned");
}

void create_sets_id_version_and_times(StoreCheck& check) {
  const StoredSession first = check.create(NewSession{});
  const StoredSession second = check.create(NewSession{});
  check.expect(first.session.id != second.session.id, "two sessions without an id got the same id");
  check.expect(first.version == 1, "the version of a new session is not 1");
  check.expect(first.created_at > StoreTime() && first.created_at == first.updated_at,
               "the times of a new session are not set");
}

void an_existing_id_is_refused(StoreCheck& check) {
  NewSession session{.session = session_saying("first")};
  session.session.id = check.own("id");
  check.create(session);
  session.session.thread = Thread({user("second")});
  check.refused(check.b().create(session), StoreReason::already_exists, "create with an id that exists");
  session.session.thread = Thread({user("first")});
  check.expect(check.value(check.a().load(check.own("id")), "load").session == session.session,
               "create with an id that exists has changed the session");
}

std::vector<Session> sessions_of_many_kinds() {
  Session texts = session_saying(std::string("NUL \0, quotes \" ' ` \\, line\nbreaks\r\t, \x7F, ä 漢 🎉, \u2028", 53));
  texts.context = {{"empty", ""}, {"", "empty key"}, {"deep", {{{"a", {{"b", {1, {2, nullptr}}}}}}}}};
  texts.metadata = {{"zeta", 1}, {"alpha", 2}, {"order", "of the keys stays"}};
  texts.unknown_fields = {{"from_a_newer_version", {true, false}}};

  Session numbers = session_saying("numbers");
  numbers.context = {{"max", std::numeric_limits<std::int64_t>::max()},
                     {"min", std::numeric_limits<std::int64_t>::min()},
                     {"unsigned", std::numeric_limits<std::uint64_t>::max()},
                     {"tenth", 0.1},
                     {"one", 1.0},
                     {"small", 5e-324},
                     {"large", 1.7976931348623157e308}};

  Message calling = assistant("");
  calling.tool_calls = {{.id = "c1", .name = "look", .arguments = {{"city", "Rome"}}, .raw_arguments = "{\"city\":"}};
  Session waiting{.thread = Thread({system("Be brief."), user("Weather?"), calling}),
                  .status = SessionStatus::awaiting_tools,
                  .pending_tool_calls = {{calling.tool_calls[0], PendingKind::suspended}}};
  Session asking{.thread = Thread({user("Book it."), calling, tool_result("c1", "sunny")}),
                 .status = SessionStatus::awaiting_user,
                 .pending_question = "Which day?",
                 .pending_tool_call_id = "c1"};

  const Image image{.source = MediaBytes{std::string("\x89PNG\0\xFF", 6)}, .mime_type = "image/png"};
  Session media{.thread = Thread({user(std::vector<Part>{TextPart{"Look:"}, ImagePart{image},
                                                         UnknownPart{{{"__type__", "ALLM.Hologram"}}}})})};
  return {Session{},
          texts,
          numbers,
          waiting,
          asking,
          media,
          Session{.thread = Thread({user("x")}), .status = SessionStatus::completed},
          Session{.thread = Thread({user("x")}), .status = SessionStatus::error}};
}

void sessions_are_equal_after_load(StoreCheck& check) {
  int number = 0;
  for (Session& session : sessions_of_many_kinds()) {
    const std::string which = "session " + std::to_string(number++) + " of sessions_of_many_kinds";
    const std::string id = check.create({.session = session}).session.id.value_or("");
    session.id = id;
    check.expect(check.value(check.b().load(id), "load of " + which).session == session,
                 which + " is not equal after load");
    check.value(check.a().commit({.session_id = id, .session = session}), "commit of " + which);
    check.expect(check.value(check.b().load(id), "load of " + which).session == session,
                 which + " is not equal after a commit and load");
  }
}

void odd_ids_work(StoreCheck& check) {
  const std::vector<std::string> ids = {"x",      "X",
                                        "x ",     "a/b",
                                        "..",     "100%",
                                        "a_b",    "it's",
                                        "\"q\"",  "a\nb",
                                        "é",      "e\u0301",
                                        "🎉",     "'; DROP TABLE x; --",
                                        "{json}", "?",
                                        "$1",     "\\",
                                        "NULL",   std::string(200, 'n')};
  for (const std::string& name : ids) {
    NewSession session{.session = session_saying(name)};
    session.session.id = check.own(name);
    check.create(session);
  }
  for (const std::string& name : ids) {
    const StoredSession loaded =
        check.value(check.b().load(check.own(name)), "load of the id '" + check.own(name) + "'");
    check.expect(loaded.session.id == check.own(name) && !loaded.session.thread.messages.empty() &&
                     loaded.session.thread.messages[0].text() == name,
                 "the id '" + check.own(name) + "' is mixed up with another");
  }
}

void large_sessions_are_kept(StoreCheck& check) {
  Session session = session_saying(std::string(1'000'000, 'x'));
  for (std::size_t i = 0; i < check.options().large_messages; ++i) {
    session.thread.messages.push_back(assistant("answer " + std::to_string(i)));
  }
  session.id = check.create({.session = session}).session.id;
  check.expect(check.value(check.b().load(session.id.value_or("")), "load of a large session").session == session,
               "a large session is not equal after load");
}

void missing_sessions_are_not_found(StoreCheck& check) {
  const std::string id = check.own("missing");
  const auto not_found = StoreReason::not_found;
  const std::chrono::milliseconds second = std::chrono::seconds(1);
  check.refused(check.a().load(id), not_found, "load of a missing session");
  check.refused(check.a().remove(id), not_found, "remove of a missing session");
  check.refused(check.a().commit(append_commit(id, {"x"})), not_found, "commit to a missing session");
  check.refused(check.a().read_log(id, 0, 10), not_found, "read_log of a missing session");
  check.refused(check.a().wait_for_log(id, 0, second), not_found, "wait_for_log of a missing session");
  check.refused(check.a().acquire(id, second), not_found, "acquire of a missing session");
  check.refused(check.a().submit({.session_id = id}), not_found, "submit for a missing session");
}

void invalid_text_is_refused(StoreCheck& check) {
  NewSession invalid{.session = session_saying("not UTF-8: \xFF")};
  invalid.session.id = check.own("invalid");
  check.expect(!check.a().create(invalid), "create accepts text that is not valid UTF-8");
  check.refused(check.a().load(check.own("invalid")), StoreReason::not_found, "load after create was refused");
  const std::string id = check.create();
  check.expect(!check.a().commit(append_commit(id, {"valid", "not UTF-8: \xFF"})),
               "commit accepts an entry that is not valid UTF-8");
  check.expect(check.value(check.a().read_log(id, 0, 10), "read_log").empty(), "a refused commit has changed the log");
}

void remove_removes_everything(StoreCheck& check) {
  NewSession session{.session = session_saying("wombat")};
  session.session.id = check.own("id");
  check.create(session);
  check.value(check.a().commit(append_commit(check.own("id"), {"x", "y"})), "commit");
  check.submit(check.own("id"));
  check.done(check.b().remove(check.own("id")), "remove");
  check.refused(check.a().load(check.own("id")), StoreReason::not_found, "load of a removed session");
  check.expect(!check.value(check.a().claim({}), "claim"), "the job of a removed session was claimed");
  check.expect(check.value(check.a().list({.text = "wombat"}), "list").sessions.empty(),
               "a search finds a removed session");
  const StoredSession again = check.create(session);
  check.expect(again.version == 1, "the version of a session that was made again is not 1");
  check.expect(check.value(check.a().read_log(check.own("id"), 0, 10), "read_log").empty(),
               "a session that was made again has entries of the removed one");
}

}  // namespace

std::vector<StoreRule> store_session_rules() {
  return {{"another_handle_sees_the_session", another_handle_sees_the_session},
          {"create_sets_id_version_and_times", create_sets_id_version_and_times},
          {"an_existing_id_is_refused", an_existing_id_is_refused},
          {"sessions_are_equal_after_load", sessions_are_equal_after_load},
          {"odd_ids_work", odd_ids_work},
          {"large_sessions_are_kept", large_sessions_are_kept},
          {"missing_sessions_are_not_found", missing_sessions_are_not_found},
          {"invalid_text_is_refused", invalid_text_is_refused},
          {"remove_removes_everything", remove_removes_everything}};
}

}  // namespace allm::conformance
