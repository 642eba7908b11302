// The migration that adds budgets. Published versions never change.
#pragma once

namespace allm::postgres {

// Each function locks the row of the budget before it looks at it, which orders all changes of a budget; one call is
// one transaction and one round trip. The row has the sums of its reservations, so that a reservation costs the same
// however many there are.
inline constexpr const char* kBudgetTables = R"sql(
CREATE TABLE allm.budgets (
  name text COLLATE "C" PRIMARY KEY,
  strict boolean NOT NULL,
  token_limit bigint,
  nano_limit bigint,
  tokens_spent bigint NOT NULL DEFAULT 0,
  nanos_spent bigint NOT NULL DEFAULT 0,
  tokens_reserved bigint NOT NULL DEFAULT 0,
  nanos_reserved bigint NOT NULL DEFAULT 0,
  reservations bigint NOT NULL DEFAULT 0,
  created_at timestamptz NOT NULL DEFAULT clock_timestamp()
) WITH (fillfactor = 50);

CREATE TABLE allm.budget_reservations (
  id bigint PRIMARY KEY,
  budget text COLLATE "C" NOT NULL REFERENCES allm.budgets ON DELETE CASCADE,
  tokens bigint NOT NULL,
  nanos bigint NOT NULL,
  holder text NOT NULL,
  at timestamptz NOT NULL,
  repeated boolean NOT NULL,
  state text NOT NULL DEFAULT 'open' CHECK (state IN ('open', 'forgotten', 'settled'))
);
CREATE INDEX budget_reservations_by_time ON allm.budget_reservations (budget, at, id);

CREATE FUNCTION allm.saturating_sum(p_a bigint, p_b bigint) RETURNS bigint LANGUAGE sql IMMUTABLE AS
$$ SELECT least(p_a::numeric + p_b, 9223372036854775807)::bigint $$;

-- An amount of null is not known. The outcome is done, not_found, tokens or nanos; the last two name the limit that
-- refuses the reservation. A reservation that exists already is done. p_again: an earlier call may still be executed,
-- even after the reservation is settled; so the row of this reservation stays then.
CREATE FUNCTION allm.reserve_in_budget(
  p_name text, p_id bigint, p_tokens bigint, p_nanos bigint, p_holder text, p_again boolean,
  OUT o_outcome text, OUT o_limit bigint, OUT o_left bigint, OUT o_strict boolean) LANGUAGE plpgsql AS $$
DECLARE
  b record;
  v_tokens bigint := greatest(coalesce(p_tokens, 0), 0);
  v_nanos bigint := greatest(coalesce(p_nanos, 0), 0);
BEGIN
  SELECT x.strict AS is_strict, x.token_limit, x.tokens_spent, x.tokens_reserved, x.nano_limit, x.nanos_spent,
         x.nanos_reserved INTO b
    FROM allm.budgets x WHERE x.name = p_name FOR NO KEY UPDATE;
  IF NOT FOUND THEN o_outcome := 'not_found'; RETURN; END IF;
  IF EXISTS (SELECT 1 FROM allm.budget_reservations r WHERE r.id = p_id) THEN o_outcome := 'done'; RETURN; END IF;
  o_strict := b.is_strict;
  o_limit := b.token_limit;
  o_left := o_limit - allm.saturating_sum(b.tokens_spent, b.tokens_reserved);
  IF v_tokens > o_left OR (p_tokens IS NULL AND o_limit IS NOT NULL AND b.is_strict) THEN
    o_outcome := 'tokens'; RETURN;
  END IF;
  o_limit := b.nano_limit;
  o_left := o_limit - allm.saturating_sum(b.nanos_spent, b.nanos_reserved);
  IF v_nanos > o_left OR (p_nanos IS NULL AND o_limit IS NOT NULL AND b.is_strict) THEN
    o_outcome := 'nanos'; RETURN;
  END IF;
  INSERT INTO allm.budget_reservations (id, budget, tokens, nanos, holder, at, repeated)
    VALUES (p_id, p_name, v_tokens, v_nanos, p_holder, clock_timestamp(), p_again);
  UPDATE allm.budgets x
     SET tokens_reserved = allm.saturating_sum(x.tokens_reserved, v_tokens),
         nanos_reserved = allm.saturating_sum(x.nanos_reserved, v_nanos),
         reservations = x.reservations + 1
   WHERE x.name = p_name;
  o_outcome := 'done';
END $$;

-- p_again: an earlier call for this reservation may have been executed. The outcome is done, not_found or unknown (the
-- reservation).
CREATE FUNCTION allm.settle_in_budget(p_name text, p_id bigint, p_tokens bigint, p_nanos bigint, p_again boolean)
RETURNS text LANGUAGE plpgsql AS $$
DECLARE
  r record;
BEGIN
  PERFORM 1 FROM allm.budgets x WHERE x.name = p_name FOR NO KEY UPDATE;
  IF NOT FOUND THEN RETURN 'not_found'; END IF;
  SELECT x.tokens, x.nanos, x.repeated, x.state = 'forgotten' AS forgotten INTO r
    FROM allm.budget_reservations x WHERE x.id = p_id AND x.budget = p_name AND x.state <> 'settled';
  IF NOT FOUND THEN RETURN CASE WHEN p_again THEN 'done' ELSE 'unknown' END; END IF;
  IF r.repeated THEN
    UPDATE allm.budget_reservations x SET state = 'settled' WHERE x.id = p_id;
  ELSE
    DELETE FROM allm.budget_reservations x WHERE x.id = p_id;
  END IF;
  UPDATE allm.budgets x
     SET tokens_spent = allm.saturating_sum(x.tokens_spent, greatest(coalesce(p_tokens, r.tokens), 0)),
         nanos_spent = allm.saturating_sum(x.nanos_spent, greatest(coalesce(p_nanos, r.nanos), 0)),
         tokens_reserved = CASE WHEN r.forgotten THEN x.tokens_reserved ELSE greatest(x.tokens_reserved - r.tokens, 0) END,
         nanos_reserved = CASE WHEN r.forgotten THEN x.nanos_reserved ELSE greatest(x.nanos_reserved - r.nanos, 0) END,
         reservations = x.reservations - (NOT r.forgotten)::integer
   WHERE x.name = p_name;
  RETURN 'done';
END $$;

-- p_holder, p_ms: null for all. Returns what was forgotten; o_count is null if there is no such budget. The rows stay,
-- for the case that they are settled. Removes rows of old settled reservations.
CREATE FUNCTION allm.forget_reservations(
  p_name text, p_holder text, p_ms bigint, OUT o_count bigint, OUT o_tokens bigint, OUT o_nanos bigint)
LANGUAGE plpgsql AS $$
DECLARE
  b record;
BEGIN
  SELECT x.tokens_reserved, x.nanos_reserved INTO b FROM allm.budgets x WHERE x.name = p_name FOR NO KEY UPDATE;
  IF NOT FOUND THEN RETURN; END IF;
  DELETE FROM allm.budget_reservations r
   WHERE r.budget = p_name AND r.state = 'settled' AND r.at < clock_timestamp() - interval '1 day';
  WITH forgotten AS (
    UPDATE allm.budget_reservations r SET state = 'forgotten'
     WHERE r.budget = p_name AND r.state = 'open' AND (p_holder IS NULL OR r.holder = p_holder)
       AND (p_ms IS NULL OR r.at <= allm.later(clock_timestamp(), -p_ms))
    RETURNING r.tokens, r.nanos)
  SELECT count(*), least(coalesce(sum(f.tokens), 0), b.tokens_reserved), least(coalesce(sum(f.nanos), 0), b.nanos_reserved)
    INTO o_count, o_tokens, o_nanos FROM forgotten f;
  UPDATE allm.budgets x
     SET tokens_reserved = x.tokens_reserved - o_tokens, nanos_reserved = x.nanos_reserved - o_nanos,
         reservations = x.reservations - o_count
   WHERE x.name = p_name;
END $$;
)sql";

}  // namespace allm::postgres
