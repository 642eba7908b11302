// Published versions never change: a change of the schema is a new version.
#include "stores/postgres/attempt_tables.hpp"
#include "stores/postgres/budget_tables.hpp"
#include "stores/postgres/schema.hpp"

namespace allm::postgres {
namespace {

// Why the functions are in the database: each is a transaction that costs one round trip. They lock the row of the
// session before they look at it, which orders all changes of a session, and read the clock after they have the lock.
// They return an outcome instead of raising errors that would fill the server's log.
constexpr const char* kVersion1 = R"sql(
CREATE TABLE allm.schema_version (version integer NOT NULL);
INSERT INTO allm.schema_version VALUES (1);

CREATE SEQUENCE allm.changes;
CREATE SEQUENCE allm.fences;

CREATE TABLE allm.sessions (
  id text COLLATE "C" PRIMARY KEY,
  tenant text NOT NULL,
  status text NOT NULL CHECK (status IN ('idle', 'completed', 'awaiting_user', 'awaiting_tools', 'error')),
  title text NOT NULL,
  messages bigint NOT NULL,
  body text NOT NULL,
  words tsvector NOT NULL,
  version bigint NOT NULL DEFAULT 1,
  change bigint NOT NULL DEFAULT nextval('allm.changes'),
  last_number bigint NOT NULL DEFAULT 0,
  created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  updated_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  fence bigint NOT NULL DEFAULT 0,
  lease_until timestamptz,
  followed_until timestamptz
) WITH (fillfactor = 80);
CREATE UNIQUE INDEX sessions_by_change ON allm.sessions (change);
CREATE INDEX sessions_by_tenant ON allm.sessions (tenant, change);
CREATE INDEX sessions_by_status ON allm.sessions (status, change);
CREATE INDEX sessions_by_word ON allm.sessions USING gin (words);

CREATE TABLE allm.log (
  session_id text COLLATE "C" NOT NULL REFERENCES allm.sessions ON DELETE CASCADE,
  number bigint NOT NULL,
  kind text NOT NULL,
  body text NOT NULL,
  at timestamptz NOT NULL,
  commit_id text NOT NULL,
  PRIMARY KEY (session_id, number)
);
CREATE INDEX log_facts ON allm.log (session_id, number) WHERE kind <> 'event';

CREATE TABLE allm.tenants (
  tenant text PRIMARY KEY,
  served timestamptz NOT NULL DEFAULT '-infinity'
) WITH (fillfactor = 50);

CREATE TABLE allm.jobs (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  session_id text COLLATE "C" NOT NULL REFERENCES allm.sessions ON DELETE CASCADE,
  tenant text NOT NULL,
  priority integer NOT NULL,
  body text NOT NULL,
  ready_at timestamptz NOT NULL,
  attempts integer NOT NULL DEFAULT 0,
  fence bigint NOT NULL DEFAULT 0
) WITH (fillfactor = 80);
CREATE INDEX jobs_by_session ON allm.jobs (session_id, id);
CREATE INDEX jobs_by_tenant ON allm.jobs (tenant, priority DESC, id);
CREATE INDEX jobs_by_time ON allm.jobs (ready_at);
CREATE INDEX jobs_claimed ON allm.jobs (tenant, session_id, fence) WHERE fence > 0;

CREATE VIEW allm.job_states AS
  SELECT j.id, j.session_id, j.tenant, j.priority, j.attempts, j.ready_at,
         (j.fence > 0 AND j.fence = s.fence AND s.lease_until > now()) IS TRUE AS running,
         j.ready_at <= now() AND (s.lease_until IS NULL OR s.lease_until <= now())
           AND NOT EXISTS (SELECT 1 FROM allm.jobs e WHERE e.session_id = j.session_id AND e.id < j.id) AS ready
    FROM allm.jobs j JOIN allm.sessions s ON s.id = j.session_id;

CREATE FUNCTION allm.milliseconds(p_time timestamptz) RETURNS bigint LANGUAGE sql STABLE AS
$$ SELECT floor(extract(epoch FROM p_time) * 1000)::bigint $$;

CREATE FUNCTION allm.later(p_time timestamptz, p_ms bigint) RETURNS timestamptz LANGUAGE sql STABLE AS
$$ SELECT p_time + p_ms * interval '1 millisecond' $$;

-- Wakes the threads that wait for jobs, if the session has one.
CREATE FUNCTION allm.announce_jobs_of(p_id text) RETURNS void LANGUAGE sql AS
$$ SELECT pg_notify('allm_jobs', '') WHERE EXISTS (SELECT 1 FROM allm.jobs j WHERE j.session_id = p_id) $$;

-- p_again: an earlier call with this p_commit may have been executed.
CREATE FUNCTION allm.commit_change(
  p_id text, p_fence bigint, p_expected bigint, p_commit text, p_again boolean, p_kinds text[], p_bodies text[],
  p_body text, p_status text, p_title text, p_messages bigint, p_words text, p_job bigint, p_release boolean,
  OUT o_outcome text, OUT o_version bigint, OUT o_last bigint) LANGUAGE plpgsql AS $$
DECLARE
  s record;
  at timestamptz;
BEGIN
  SELECT x.version, x.last_number, x.fence, x.lease_until, x.followed_until INTO s
    FROM allm.sessions x WHERE x.id = p_id FOR NO KEY UPDATE;
  IF NOT FOUND THEN o_outcome := 'not_found'; RETURN; END IF;
  at := clock_timestamp();
  IF p_again THEN
    SELECT max(l.number) INTO o_last FROM allm.log l WHERE l.session_id = p_id AND l.commit_id = p_commit;
    IF o_last IS NOT NULL THEN
      o_outcome := 'done';
      o_version := coalesce(p_expected + (p_body IS NOT NULL)::integer, s.version);
      RETURN;
    END IF;
  END IF;
  o_version := s.version;
  IF p_fence IS NULL THEN
    IF s.lease_until > at THEN o_outcome := 'leased'; RETURN; END IF;
  ELSIF s.fence <> p_fence OR s.lease_until IS NULL OR s.lease_until <= at THEN
    o_outcome := 'fenced'; RETURN;
  END IF;
  IF p_expected <> s.version THEN o_outcome := 'conflict'; RETURN; END IF;

  INSERT INTO allm.log (session_id, number, kind, body, at, commit_id)
    SELECT p_id, s.last_number + e.n, e.kind, e.body, at, p_commit
      FROM unnest(p_kinds, p_bodies) WITH ORDINALITY AS e (kind, body, n);
  o_last := s.last_number + cardinality(p_kinds);
  IF p_body IS NULL THEN
    UPDATE allm.sessions x
       SET last_number = o_last, lease_until = CASE WHEN p_release THEN NULL ELSE x.lease_until END
     WHERE x.id = p_id;
  ELSE
    o_version := s.version + 1;
    UPDATE allm.sessions x
       SET last_number = o_last, lease_until = CASE WHEN p_release THEN NULL ELSE x.lease_until END,
           version = o_version, change = nextval('allm.changes'), updated_at = at, status = p_status, title = p_title,
           messages = p_messages, body = p_body, words = strip(to_tsvector('simple', p_words))
     WHERE x.id = p_id;
  END IF;
  IF p_job IS NOT NULL THEN DELETE FROM allm.jobs j WHERE j.id = p_job AND j.session_id = p_id; END IF;
  IF s.followed_until > at AND o_last > s.last_number THEN PERFORM pg_notify('allm_log', p_id); END IF;
  IF p_release OR p_job IS NOT NULL THEN PERFORM allm.announce_jobs_of(p_id); END IF;
  o_outcome := 'done';
END $$;

CREATE FUNCTION allm.remove_session(p_id text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
  s record;
BEGIN
  SELECT x.lease_until, x.followed_until INTO s FROM allm.sessions x WHERE x.id = p_id FOR UPDATE;
  IF NOT FOUND THEN RETURN 'not_found'; END IF;
  IF s.lease_until > clock_timestamp() THEN RETURN 'leased'; END IF;
  DELETE FROM allm.sessions x WHERE x.id = p_id;
  IF s.followed_until > clock_timestamp() THEN PERFORM pg_notify('allm_log', p_id); END IF;
  RETURN 'done';
END $$;

-- Commits of the next p_ms milliseconds announce their entries. Returns the last number of the log; null: no session.
-- Whether a commit sees the new followed_until or is seen here is decided by the lock on the row.
CREATE FUNCTION allm.follow_log(p_id text, p_ms bigint) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
  last bigint;
BEGIN
  PERFORM set_config('synchronous_commit', 'off', true);  -- a crash also ends the connections that wait
  UPDATE allm.sessions x SET followed_until = allm.later(clock_timestamp(), 2 * p_ms)
   WHERE x.id = p_id AND (x.followed_until IS NULL OR x.followed_until < allm.later(clock_timestamp(), p_ms))
   RETURNING x.last_number INTO last;
  IF NOT FOUND THEN SELECT x.last_number INTO last FROM allm.sessions x WHERE x.id = p_id; END IF;
  RETURN last;
END $$;

CREATE FUNCTION allm.acquire_lease(p_id text, p_ms bigint, OUT o_outcome text, OUT o_fence bigint, OUT o_until bigint)
LANGUAGE plpgsql AS $$
DECLARE
  s record;
  until timestamptz;
BEGIN
  SELECT x.lease_until INTO s FROM allm.sessions x WHERE x.id = p_id FOR NO KEY UPDATE;
  IF NOT FOUND THEN o_outcome := 'not_found'; RETURN; END IF;
  IF s.lease_until > clock_timestamp() THEN o_outcome := 'leased'; RETURN; END IF;
  until := allm.later(clock_timestamp(), p_ms);
  o_fence := nextval('allm.fences');
  UPDATE allm.sessions x SET fence = o_fence, lease_until = until WHERE x.id = p_id;
  o_until := allm.milliseconds(until);
  o_outcome := 'done';
END $$;

CREATE FUNCTION allm.renew_lease(p_id text, p_fence bigint, p_ms bigint, OUT o_outcome text, OUT o_until bigint)
LANGUAGE plpgsql AS $$
DECLARE
  s record;
  until timestamptz;
BEGIN
  SELECT x.fence, x.lease_until INTO s FROM allm.sessions x WHERE x.id = p_id FOR NO KEY UPDATE;
  IF NOT FOUND THEN o_outcome := 'not_found'; RETURN; END IF;
  IF s.fence <> p_fence OR s.lease_until IS NULL THEN o_outcome := 'fenced'; RETURN; END IF;
  until := allm.later(clock_timestamp(), p_ms);
  UPDATE allm.sessions x SET lease_until = until WHERE x.id = p_id;
  o_until := allm.milliseconds(until);
  o_outcome := 'done';
END $$;

CREATE FUNCTION allm.release_lease(p_id text, p_fence bigint) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  UPDATE allm.sessions x SET lease_until = NULL WHERE x.id = p_id AND x.fence = p_fence AND x.lease_until IS NOT NULL;
  IF FOUND THEN PERFORM allm.announce_jobs_of(p_id); END IF;
END $$;

-- Returns the id of the job; null: there is no such session.
CREATE FUNCTION allm.submit_job(p_id text, p_body text, p_priority integer, p_delay_ms bigint) RETURNS bigint
LANGUAGE plpgsql AS $$
DECLARE
  owner text;
  job bigint;
BEGIN
  SELECT x.tenant INTO owner FROM allm.sessions x WHERE x.id = p_id FOR KEY SHARE;
  IF NOT FOUND THEN RETURN NULL; END IF;
  INSERT INTO allm.tenants (tenant) VALUES (owner) ON CONFLICT DO NOTHING;
  INSERT INTO allm.jobs (session_id, tenant, priority, body, ready_at)
    VALUES (p_id, owner, p_priority, p_body, allm.later(clock_timestamp(), p_delay_ms)) RETURNING id INTO job;
  PERFORM pg_notify('allm_jobs', '');
  RETURN job;
END $$;

-- Claims the next job. Without a row: none is ready. With o_job = null: other workers are claiming; call again.
-- A claim changes the time in the row of its tenant, under a lock. So if the time is still that at which the running
-- jobs were counted, no other worker has claimed a job of this tenant since.
-- The settings make the planner walk through indexes to the first job, whatever it knows about the tables: their sizes
-- change too fast for its statistics.
CREATE FUNCTION allm.claim_job(p_ms bigint, p_most bigint)
RETURNS TABLE (o_job bigint, o_session text, o_tenant text, o_body text, o_priority integer, o_attempt integer,
               o_fence bigint, o_until bigint) LANGUAGE plpgsql
SET enable_hashjoin = off SET enable_mergejoin = off SET enable_seqscan = off SET enable_bitmapscan = off AS $$
DECLARE
  candidate record;
  job record;
  at timestamptz := clock_timestamp();
  until timestamptz;
  busy text;              -- a tenant of which another worker claims a job
  passed boolean := false;  -- whether this call has locked a tenant whose jobs are locked or taken
BEGIN
  FOR candidate IN
    SELECT t.tenant, t.served,
           (SELECT count(*) FROM allm.jobs j JOIN allm.sessions s ON s.id = j.session_id AND s.fence = j.fence
             WHERE j.tenant = t.tenant AND j.fence > 0 AND s.lease_until > at) AS running
      FROM allm.tenants t
     WHERE EXISTS (SELECT 1 FROM allm.jobs j WHERE j.tenant = t.tenant)
     ORDER BY running, t.served, t.tenant
  LOOP
    CONTINUE WHEN candidate.running >= p_most;
    CONTINUE WHEN NOT EXISTS (
      SELECT 1 FROM allm.jobs j JOIN allm.sessions s ON s.id = j.session_id
       WHERE j.tenant = candidate.tenant AND j.ready_at <= at AND (s.lease_until IS NULL OR s.lease_until <= at)
         AND NOT EXISTS (SELECT 1 FROM allm.jobs e WHERE e.session_id = j.session_id AND e.id < j.id));
    PERFORM 1 FROM allm.tenants t
      WHERE t.tenant = candidate.tenant AND t.served = candidate.served FOR NO KEY UPDATE SKIP LOCKED;
    IF NOT FOUND THEN busy := coalesce(busy, candidate.tenant); CONTINUE; END IF;
    SELECT j.id, j.session_id, j.tenant, j.body, j.priority, j.attempts INTO job
      FROM allm.jobs j JOIN allm.sessions s ON s.id = j.session_id
     WHERE j.tenant = candidate.tenant AND j.ready_at <= at AND (s.lease_until IS NULL OR s.lease_until <= at)
       AND NOT EXISTS (SELECT 1 FROM allm.jobs e WHERE e.session_id = j.session_id AND e.id < j.id)
     ORDER BY j.priority DESC, j.id LIMIT 1 FOR NO KEY UPDATE OF j, s SKIP LOCKED;
    IF FOUND THEN
      UPDATE allm.tenants t SET served = clock_timestamp() WHERE t.tenant = candidate.tenant;
      o_fence := nextval('allm.fences');
      until := allm.later(clock_timestamp(), p_ms);
      UPDATE allm.sessions s SET fence = o_fence, lease_until = until WHERE s.id = job.session_id;
      UPDATE allm.jobs j SET fence = o_fence, attempts = job.attempts + 1 WHERE j.id = job.id;
      o_job := job.id; o_session := job.session_id; o_tenant := job.tenant; o_body := job.body;
      o_priority := job.priority; o_attempt := job.attempts + 1; o_until := allm.milliseconds(until);
      RETURN NEXT;
      RETURN;
    END IF;
    passed := true;
  END LOOP;
  -- Two calls that hold the lock of a tenant and wait for another would wait for each other.
  IF busy IS NOT NULL AND NOT passed THEN
    PERFORM 1 FROM allm.tenants t WHERE t.tenant = busy FOR NO KEY UPDATE;
  END IF;
  IF busy IS NOT NULL OR passed THEN RETURN NEXT; END IF;
END $$;
)sql";

}  // namespace

const char* migration_to(int version) {
  switch (version) {
    case 1:
      return kVersion1;
    case 2:
      return kFailedAttempts;
    case 3:
      return kBudgetTables;
    default:
      return "";
  }
}

}  // namespace allm::postgres
