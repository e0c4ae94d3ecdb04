-- Version 7: results of `nsatune run`, what the probes of libraries said when a run began, and how
-- far a selection of reduced precision agrees with the exact one.

-- What one `nsatune run` measured. Its run has no measurements; environment, devices and libraries
-- are those of the run.
CREATE TABLE run_result (
  id          TEXT NOT NULL PRIMARY KEY,            -- UUID
  run_id      TEXT NOT NULL REFERENCES run (id) ON DELETE CASCADE,
  recorded_at TEXT NOT NULL,                        -- ISO 8601, UTC
  command     TEXT NOT NULL,                        -- that would repeat it
  report      TEXT NOT NULL  -- schema "run_result"
) STRICT;
CREATE INDEX run_result_run ON run_result (run_id);

-- Optional libraries as their probes found them when a run began, usable or not.
CREATE TABLE library (
  run_id   TEXT    NOT NULL REFERENCES run (id) ON DELETE CASCADE,
  position INTEGER NOT NULL,
  name     TEXT    NOT NULL,                        -- 'cuDNN', 'CUPTI', 'OpenBLAS'
  usable   INTEGER NOT NULL CHECK (usable IN (0, 1)),
  version  TEXT    NOT NULL,                        -- '' = unknown
  reason   TEXT    NOT NULL,                        -- why it is not usable; '' where it is
  PRIMARY KEY (run_id, position)
) STRICT, WITHOUT ROWID;

-- How many of the blocks that a variant of reduced precision selects are those of the reference,
-- on the rows that were checked.
CREATE TABLE agreement (
  id           TEXT    NOT NULL PRIMARY KEY,        -- UUID
  run_id       TEXT    NOT NULL REFERENCES run (id) ON DELETE CASCADE,
  executor     TEXT    NOT NULL,                    -- 'nsatune', or a foreign worker's name
  placement_id TEXT    NOT NULL,                    -- of the list in placement
  problem_id   TEXT    NOT NULL REFERENCES problem (id),
  variant_id   TEXT    NOT NULL REFERENCES variant (id),
  source_hash  TEXT    NOT NULL,                    -- of the variant's sources
  launch       TEXT    NOT NULL CHECK (launch IN ('eager', 'graph')),
  blocks       INTEGER NOT NULL CHECK (blocks > 0), -- that the reference selects in these rows
  same         INTEGER NOT NULL CHECK (same BETWEEN 0 AND blocks),  -- that the variant does too
  checked_at   TEXT    NOT NULL,                    -- ISO 8601, UTC
  UNIQUE (run_id, executor, placement_id, problem_id, variant_id, launch)
) STRICT;
CREATE INDEX agreement_problem ON agreement (problem_id, variant_id);

-- One line per result of `nsatune run`.
CREATE VIEW run_result_summary AS
SELECT r.id, r.run_id, r.recorded_at, u.build_id,
       (SELECT d.name FROM device d WHERE d.run_id = r.run_id ORDER BY d.position LIMIT 1)
         AS device,
       r.report ->> '$.model.name' AS model, r.report ->> '$.model.layer_only' AS layer_only,
       r.report ->> '$.model.attention' AS attention, r.report ->> '$.direction' AS direction,
       r.report ->> '$.model.dtype' AS dtype, r.report ->> '$.seq_len' AS seq_len,
       r.report ->> '$.batch' AS batch, r.report ->> '$.model.layers' AS layers,
       r.report ->> '$.model.kv_heads' AS kv_heads,
       r.report ->> '$.tokens_per_s' AS tokens_per_s,
       r.report ->> '$.median_step_ns' / 1e6 AS median_step_ms,
       r.report ->> '$.share_of_peak' AS share_of_peak,
       r.report ->> '$.decode.tokens_per_s' AS decode_tokens_per_s,
       r.report ->> '$.memory.workspace_peak_bytes' AS workspace_peak_bytes,
       r.report ->> '$.slow_path_calls' AS slow_path_calls,
       r.report ->> '$.thresholds' AS thresholds, r.command
FROM run_result r JOIN run u ON u.id = r.run_id;
