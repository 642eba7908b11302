#include "stores/journal/job_end.hpp"

#include <utility>

#include "allm/serialize.hpp"
#include "allm/session_ops.hpp"

#include "data/names.hpp"
#include "stores/journal/facts.hpp"

namespace allm {
namespace {

Json given_up_json(const Job& job) { return {{"job", job.id}, {"attempts", job.failures}, {"error", job.last_error}}; }

}  // namespace

bool is_fault_of_job(const Error& error) {
  using Reason = StoreError::Reason;
  const auto* failure = error.get_if<StoreError>();
  return failure == nullptr || (failure->reason != Reason::unavailable && failure->reason != Reason::full &&
                                failure->reason != Reason::read_only && failure->reason != Reason::fenced);
}

Status end_attempt(SessionStore& store, std::int64_t job, const Lease& lease, const Error& error) {
  if (is_fault_of_job(error)) {
    const Commit failed{.session_id = lease.session_id,
                        .fence = lease.fence,
                        .entries = {attempt_failed_fact(job, error)},
                        .failed_attempt = FailedAttempt{.job = job, .error = error.message()},
                        .release = true};
    if (store.commit(failed)) return {};
  }
  return store.release(lease);
}

Error given_up_error(const Job& job) {
  return Error(SessionError{SessionError::Reason::session_in_error_state},
               "job " + std::to_string(job.id) + " was given up at attempt " + std::to_string(job.failures) + ": " +
                   job.last_error,
               given_up_json(job));
}

LogEntry given_up_fact(const Job& job) { return make_fact(fact::job_given_up, given_up_json(job)); }

Session with_given_up(Session session, const Job& job) {
  if (session.status == SessionStatus::error) {
    if (Result<Session> recovered = session_recover(session)) session = *std::move(recovered);
  }
  if (!session.metadata.is_object()) session.metadata = Json::object();
  Json given_up = given_up_json(job);
  given_up["status"] = to_string(session.status);
  session.metadata[kGivenUp] = std::move(given_up);
  session.metadata["error"] = to_json_value(given_up_error(job));
  session.status = SessionStatus::error;
  return session;
}

Session without_given_up(Session session) {
  if (!session.metadata.is_object()) return session;
  const auto found = session.metadata.find(kGivenUp);
  if (found == session.metadata.end()) return session;
  const Json given_up = std::move(*found);
  session.metadata.erase(kGivenUp);
  // Somebody may have recovered the session.
  if (session.status != SessionStatus::error) return session;
  session.metadata.erase("error");
  const auto status = given_up.is_object() ? given_up.find("status") : given_up.end();
  const bool is_known = given_up.is_object() && status != given_up.end() && status->is_string();
  const auto before = is_known ? enum_from_name<SessionStatus>(status->get<std::string>()) : std::nullopt;
  session.status = before.value_or(SessionStatus::idle);
  return session;
}

}  // namespace allm
