// The migration that counts failed attempts at jobs. Published versions never change.
#pragma once

namespace allm::postgres {

// Failed attempts at jobs, and turns of tenants. A job has a fence while an attempt at it goes on.
inline constexpr const char* kFailedAttempts = R"sql(
ALTER TABLE allm.jobs
  ADD COLUMN max_attempts integer NOT NULL DEFAULT 5,
  ADD COLUMN retry_ms bigint NOT NULL DEFAULT 1000,
  ADD COLUMN failures integer NOT NULL DEFAULT 0,
  ADD COLUMN lost_fence bigint NOT NULL DEFAULT 0,
  ADD COLUMN last_error text NOT NULL DEFAULT '';
ALTER TABLE allm.tenants ADD COLUMN turn bigint NOT NULL DEFAULT 0;
-- Version 1 kept the fence of jobs whose lease was released, which does not count as a failed attempt.
UPDATE allm.jobs j SET fence = 0 WHERE j.fence > 0 AND NOT EXISTS
  (SELECT 1 FROM allm.sessions s WHERE s.id = j.session_id AND s.fence = j.fence AND s.lease_until IS NOT NULL);

DROP FUNCTION allm.commit_change(
  text, bigint, bigint, text, boolean, text[], text[], text, text, text, bigint, text, bigint, boolean);
DROP FUNCTION allm.submit_job(text, text, integer, bigint);
DROP FUNCTION allm.claim_job(bigint, bigint);

-- When a job is ready again whose attempt has failed after p_failures other ones.
CREATE FUNCTION allm.retry_time(p_failures integer, p_ms bigint) RETURNS timestamptz LANGUAGE sql VOLATILE AS
$$ SELECT allm.later(clock_timestamp(), least(p_ms * (1::bigint << least(p_failures, 20)), 600000)) $$;

-- The attempt with this fence at a job of the session has not failed: its lease was released.
CREATE FUNCTION allm.release_attempt(p_id text, p_fence bigint) RETURNS void LANGUAGE sql AS $$
  UPDATE allm.jobs j SET fence = 0 WHERE j.session_id = p_id AND j.fence = p_fence AND p_fence > 0;
  UPDATE allm.jobs j SET failures = j.failures - 1, lost_fence = 0, ready_at = clock_timestamp()
   WHERE j.session_id = p_id AND j.lost_fence = p_fence AND p_fence > 0;
$$;

-- p_again: an earlier call with this p_commit may have been executed.
CREATE FUNCTION allm.commit_change(
  p_id text, p_fence bigint, p_expected bigint, p_commit text, p_again boolean, p_kinds text[], p_bodies text[],
  p_body text, p_status text, p_title text, p_messages bigint, p_words text, p_job bigint, p_release boolean,
  p_failed bigint, p_error text,
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
  IF p_failed IS NOT NULL THEN
    UPDATE allm.jobs j
       SET failures = j.failures + 1, fence = 0, lost_fence = 0, last_error = p_error,
           ready_at = allm.retry_time(j.failures, j.retry_ms)
     WHERE j.id = p_failed AND j.session_id = p_id;
  END IF;
  IF p_release AND p_job IS NULL THEN PERFORM allm.release_attempt(p_id, s.fence); END IF;
  IF s.followed_until > at AND o_last > s.last_number THEN PERFORM pg_notify('allm_log', p_id); END IF;
  IF p_release OR p_job IS NOT NULL OR p_failed IS NOT NULL THEN PERFORM allm.announce_jobs_of(p_id); END IF;
  o_outcome := 'done';
END $$;

CREATE OR REPLACE FUNCTION allm.renew_lease(p_id text, p_fence bigint, p_ms bigint, OUT o_outcome text, OUT o_until bigint)
LANGUAGE plpgsql AS $$
DECLARE
  s record;
  until timestamptz;
BEGIN
  SELECT x.fence, x.lease_until INTO s FROM allm.sessions x WHERE x.id = p_id FOR NO KEY UPDATE;
  IF NOT FOUND THEN o_outcome := 'not_found'; RETURN; END IF;
  IF s.fence <> p_fence OR s.lease_until IS NULL THEN o_outcome := 'fenced'; RETURN; END IF;
  IF s.lease_until <= clock_timestamp() THEN  -- the attempt may have been counted as lost
    UPDATE allm.jobs j SET failures = j.failures - 1, lost_fence = 0, ready_at = clock_timestamp(), fence = p_fence
     WHERE j.session_id = p_id AND j.lost_fence = p_fence;
  END IF;
  until := allm.later(clock_timestamp(), p_ms);
  UPDATE allm.sessions x SET lease_until = until WHERE x.id = p_id;
  o_until := allm.milliseconds(until);
  o_outcome := 'done';
END $$;

CREATE OR REPLACE FUNCTION allm.release_lease(p_id text, p_fence bigint) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  PERFORM 1 FROM allm.sessions x WHERE x.id = p_id FOR NO KEY UPDATE;
  UPDATE allm.sessions x SET lease_until = NULL WHERE x.id = p_id AND x.fence = p_fence AND x.lease_until IS NOT NULL;
  PERFORM allm.release_attempt(p_id, p_fence);
  PERFORM allm.announce_jobs_of(p_id);
END $$;

-- Returns the id of the job; null: there is no such session.
CREATE FUNCTION allm.submit_job(
  p_id text, p_body text, p_priority integer, p_delay_ms bigint, p_attempts integer, p_retry_ms bigint) RETURNS bigint
LANGUAGE plpgsql AS $$
DECLARE
  owner text;
  job bigint;
BEGIN
  SELECT x.tenant INTO owner FROM allm.sessions x WHERE x.id = p_id FOR KEY SHARE;
  IF NOT FOUND THEN RETURN NULL; END IF;
  INSERT INTO allm.tenants (tenant) VALUES (owner) ON CONFLICT DO NOTHING;
  INSERT INTO allm.jobs (session_id, tenant, priority, body, ready_at, max_attempts, retry_ms)
    VALUES (p_id, owner, p_priority, p_body, allm.later(clock_timestamp(), p_delay_ms), p_attempts, p_retry_ms)
    RETURNING id INTO job;
  PERFORM pg_notify('allm_jobs', '');
  RETURN job;
END $$;

-- Counts the attempts whose leases have expired. Jobs that somebody else changes are left for the next call.
CREATE FUNCTION allm.count_lost_attempts(p_error text) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  lost record;
BEGIN
  FOR lost IN
    SELECT j.id, j.fence, j.failures, j.retry_ms FROM allm.jobs j JOIN allm.sessions s ON s.id = j.session_id
     WHERE j.fence > 0 AND (s.fence <> j.fence OR s.lease_until IS NULL OR s.lease_until <= clock_timestamp())
       FOR NO KEY UPDATE OF j, s SKIP LOCKED
  LOOP
    UPDATE allm.jobs j
       SET failures = lost.failures + 1, lost_fence = lost.fence, fence = 0, last_error = p_error,
           ready_at = allm.retry_time(lost.failures, lost.retry_ms)
     WHERE j.id = lost.id;
  END LOOP;
END $$;

-- A function of its own, so that the planner looks at one tenant at a time. Called with the settings of claim_job.
CREATE FUNCTION allm.has_ready_job(p_tenant text, p_at timestamptz) RETURNS boolean LANGUAGE plpgsql STABLE AS $$
BEGIN
  RETURN EXISTS (
    SELECT 1 FROM allm.jobs j JOIN allm.sessions s ON s.id = j.session_id
     WHERE j.tenant = p_tenant AND j.fence = 0 AND j.ready_at <= p_at AND (s.lease_until IS NULL OR s.lease_until <= p_at)
       AND NOT EXISTS (SELECT 1 FROM allm.jobs e WHERE e.session_id = j.session_id AND e.id < j.id));
END $$;

-- Claims the next job. Without a row: none is ready. With o_job = null: other workers are claiming; call again.
-- p_tolerance: how many running jobs a tenant may have more than the one with the fewest; p_behind: how many turns it is
-- at most behind the others.
-- A claim changes the time in the row of its tenant, under a lock. So if the time is still that at which the running
-- jobs were counted, no other worker has claimed a job of this tenant since.
-- The settings make the planner walk through indexes to the first job, whatever it knows about the tables: their sizes
-- change too fast for its statistics. The costs that this makes up would let it compile every claim.
CREATE FUNCTION allm.claim_job(p_ms bigint, p_most bigint, p_tolerance bigint, p_behind bigint, p_lost text)
RETURNS TABLE (o_job bigint, o_session text, o_tenant text, o_body text, o_priority integer, o_attempt integer,
               o_fence bigint, o_until bigint, o_failures integer, o_max_attempts integer, o_last_error text)
LANGUAGE plpgsql
SET enable_hashjoin = off SET enable_mergejoin = off SET enable_seqscan = off SET enable_bitmapscan = off SET jit = off AS $$
DECLARE
  candidate record;
  job record;
  at timestamptz;
  until timestamptz;
  busy text;              -- a tenant of which another worker claims a job
  passed boolean := false;  -- whether this call has locked a tenant whose jobs are locked or taken
BEGIN
  PERFORM allm.count_lost_attempts(p_lost);
  at := clock_timestamp();
  FOR candidate IN
    WITH ready AS MATERIALIZED (
      SELECT * FROM (
        SELECT t.tenant, t.served, t.turn,
               (SELECT count(*) FROM allm.jobs j JOIN allm.sessions s ON s.id = j.session_id AND s.fence = j.fence
                 WHERE j.tenant = t.tenant AND j.fence > 0 AND s.lease_until > at) AS running
          FROM allm.tenants t
         WHERE allm.has_ready_job(t.tenant, at)
        ) x WHERE p_most IS NULL OR x.running < p_most)
    SELECT r.tenant, r.served,
           greatest(r.turn, (SELECT max(t.turn) FROM allm.tenants t) - p_behind) AS turn
      FROM ready r
     ORDER BY greatest(r.running - (SELECT min(m.running) FROM ready m), p_tolerance), 3, r.running, r.served, r.tenant
  LOOP
    PERFORM 1 FROM allm.tenants t
      WHERE t.tenant = candidate.tenant AND t.served = candidate.served FOR NO KEY UPDATE SKIP LOCKED;
    IF NOT FOUND THEN busy := coalesce(busy, candidate.tenant); CONTINUE; END IF;
    SELECT j.id, j.session_id, j.tenant, j.body, j.priority, j.failures, j.max_attempts, j.last_error,
           j.attempts + (j.max_attempts <= 0 OR j.failures < j.max_attempts)::integer AS attempts INTO job
      FROM allm.jobs j JOIN allm.sessions s ON s.id = j.session_id
     WHERE j.tenant = candidate.tenant AND j.fence = 0 AND j.ready_at <= at AND (s.lease_until IS NULL OR s.lease_until <= at)
       AND NOT EXISTS (SELECT 1 FROM allm.jobs e WHERE e.session_id = j.session_id AND e.id < j.id)
     ORDER BY j.priority DESC, j.id LIMIT 1 FOR NO KEY UPDATE OF j, s SKIP LOCKED;
    IF FOUND THEN
      UPDATE allm.tenants t SET served = clock_timestamp(), turn = candidate.turn + 1
       WHERE t.tenant = candidate.tenant;
      o_fence := nextval('allm.fences');
      until := allm.later(clock_timestamp(), p_ms);
      UPDATE allm.sessions s SET fence = o_fence, lease_until = until WHERE s.id = job.session_id;
      UPDATE allm.jobs j SET fence = o_fence, attempts = job.attempts WHERE j.id = job.id;
      o_job := job.id; o_session := job.session_id; o_tenant := job.tenant; o_body := job.body;
      o_priority := job.priority; o_attempt := job.attempts; o_until := allm.milliseconds(until);
      o_failures := job.failures; o_max_attempts := job.max_attempts; o_last_error := job.last_error;
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

}  // namespace allm::postgres
