-- Results database, version 1. Read by people too: try
--   sqlite3 results.sqlite 'SELECT * FROM measurement_summary LIMIT 20'
-- Words and units are those of the C++ structs and of the JSON documents (schemas/README.md).
-- Every id is unique over machines, so that databases can be merged: runs, measurements and
-- telemetry carry UUIDs; problem, variant and placement are keyed by their content.
-- NULL means "not read" or "does not apply", never zero.

-- One sweep: same spec, build and environment, one owner at a time.
CREATE TABLE run (
  id               TEXT NOT NULL PRIMARY KEY,       -- UUID
  spec_hash        TEXT NOT NULL,
  spec_json        TEXT NOT NULL,                   -- the spec as it was run
  build_id         TEXT NOT NULL,
  environment_hash TEXT NOT NULL,
  started_at       TEXT NOT NULL,                   -- ISO 8601, UTC
  ended_at         TEXT,                            -- NULL while open
  state            TEXT NOT NULL CHECK (state IN ('open', 'complete', 'incomplete')),
  CHECK ((state = 'open') = (ended_at IS NULL))
) STRICT;
CREATE INDEX run_started_at ON run (started_at);

-- Everything that can change a time; epoch = 1 begins a new epoch in the nightly check.
CREATE TABLE environment_fact (
  run_id TEXT    NOT NULL REFERENCES run (id) ON DELETE CASCADE,
  key    TEXT    NOT NULL,
  value  TEXT    NOT NULL,
  epoch  INTEGER NOT NULL CHECK (epoch IN (0, 1)),
  PRIMARY KEY (run_id, key)
) STRICT, WITHOUT ROWID;

-- The devices of a run as they were when it began.
CREATE TABLE device (
  run_id             TEXT    NOT NULL REFERENCES run (id) ON DELETE CASCADE,
  position           INTEGER NOT NULL,              -- order in the run
  id                 TEXT    NOT NULL,              -- 'cpu', 'cuda:0'
  backend            TEXT    NOT NULL CHECK (backend IN ('cpu', 'cuda')),
  name               TEXT    NOT NULL,
  uuid               TEXT    NOT NULL,
  compute_capability INTEGER,                       -- 90 for 9.0; NULL on a CPU
  multiprocessors    INTEGER,                       -- SMs, or logical cores of a CPU
  memory_bytes       INTEGER,
  memory_free_bytes  INTEGER,
  l2_bytes           INTEGER,
  power_limit_w      REAL,
  max_clock_mhz      REAL,
  mig                INTEGER CHECK (mig IN (0, 1)),
  ecc                INTEGER CHECK (ecc IN (0, 1)),
  isa                TEXT    NOT NULL,
  driver             TEXT    NOT NULL,
  runtime            TEXT    NOT NULL,
  PRIMARY KEY (run_id, position)
) STRICT, WITHOUT ROWID;
CREATE INDEX device_uuid ON device (uuid);

-- One NSA call with its shape, batch and data. Lengths are in tokens.
CREATE TABLE problem (
  id           TEXT    NOT NULL PRIMARY KEY,        -- hash of the columns below
  direction    TEXT    NOT NULL CHECK (direction IN ('forward', 'backward')),
  phase        TEXT    NOT NULL CHECK (phase IN ('prefill', 'chunked_prefill', 'decode')),
  seq_lens     TEXT    NOT NULL,      -- JSON, [batch]
  context_lens TEXT    NOT NULL,  -- JSON, [batch]
  batch        INTEGER NOT NULL,                    -- sequences
  seq_len      INTEGER NOT NULL,                    -- the longest of seq_lens
  context_len  INTEGER NOT NULL,                    -- the longest of context_lens
  q_heads      INTEGER NOT NULL,
  kv_heads     INTEGER NOT NULL,
  head_dim_k   INTEGER NOT NULL,
  head_dim_v   INTEGER NOT NULL,
  cmp_block    INTEGER NOT NULL,                    -- l
  cmp_stride   INTEGER NOT NULL,                    -- d
  sel_block    INTEGER NOT NULL,                    -- l'
  sel_count    INTEGER NOT NULL,                    -- n, in blocks
  window       INTEGER NOT NULL,                    -- w
  dtype        TEXT    NOT NULL CHECK (dtype IN ('fp64', 'fp32', 'bf16', 'fp16', 'int32')),
  pattern      TEXT    NOT NULL CHECK (pattern IN ('random', 'smooth', 'recorded')),
  overlap      REAL,                                -- share of 1; NULL = unknown
  model_dim    INTEGER NOT NULL,                    -- 0 where the stage sees no model
  layers       INTEGER NOT NULL,
  vocab_size   INTEGER NOT NULL
) STRICT;

-- An implementation of one stage or of several, at one tuned point.
CREATE TABLE variant (
  id     TEXT NOT NULL PRIMARY KEY,                 -- 'attend_selected/fused_query.bq64.st3'
  stages TEXT NOT NULL,                             -- joined with '+'
  name   TEXT NOT NULL,                             -- 'fused_query'
  point  TEXT NOT NULL    -- JSON, {"bq":64,"st":3}; {} without
) STRICT;
CREATE INDEX variant_stages ON variant (stages, name);

-- Where a measurement ran: a list of (host, device), of length one today.
CREATE TABLE placement (
  id          TEXT    NOT NULL,                     -- hash of the whole list
  position    INTEGER NOT NULL,
  host        TEXT    NOT NULL,
  device_uuid TEXT    NOT NULL,
  PRIMARY KEY (id, position)
) STRICT, WITHOUT ROWID;
CREATE INDEX placement_device ON placement (device_uuid);

-- One variant on one problem, measured once in one process and round.
CREATE TABLE measurement (
  id              TEXT    NOT NULL PRIMARY KEY,     -- UUID
  run_id          TEXT    NOT NULL REFERENCES run (id) ON DELETE CASCADE,
  job_key         TEXT    NOT NULL,                 -- what a resume leaves out
  executor        TEXT    NOT NULL,                 -- 'nsatune', or a foreign worker's name
  placement_id    TEXT    NOT NULL,                 -- of the list in placement
  problem_id      TEXT    NOT NULL REFERENCES problem (id),
  variant_id      TEXT    NOT NULL REFERENCES variant (id),
  source_hash     TEXT    NOT NULL,                 -- of the variant's sources
  process         INTEGER NOT NULL,
  round           INTEGER NOT NULL,
  position        INTEGER NOT NULL,                 -- in the interleaved order of its round
  pair_id         TEXT    NOT NULL,                 -- rows that were interleaved share it
  control         INTEGER NOT NULL CHECK (control IN (0, 1)),  -- A/A twin of another row
  launch          TEXT    NOT NULL CHECK (launch IN ('eager', 'graph')),
  timer           TEXT    NOT NULL CHECK (timer IN ('events', 'cupti', 'host')),
  cold            INTEGER NOT NULL CHECK (cold IN (0, 1)),     -- caches flushed before each sample
  outcome         TEXT    NOT NULL CHECK (outcome IN ('ok', 'unsupported', 'not_built',
                    'out_of_memory', 'timeout', 'crashed', 'bad_reply', 'noisy')),
  reason          TEXT    NOT NULL,                 -- of any outcome but ok
  verification    TEXT    NOT NULL CHECK (verification IN ('verified', 'wrong_result',
                    'unverified')),
  worst_row_error REAL,                             -- relative L2 of the worst row
  first_call_ns   INTEGER,
  workspace_bytes INTEGER,
  grow_events     INTEGER,                          -- of the workspace, in this measurement
  need_varlen_n   INTEGER,                          -- rows          } the largest request to the
  need_varlen_k   INTEGER,                          -- packed tokens } workspace; all NULL or none
  need_sel_pack_n INTEGER,                          -- rows          }
  need_sel_pack_l INTEGER,                          -- tokens a row  }
  median_ns       REAL,                             -- of device_ns
  mad_ns          REAL,                             -- median absolute deviation of device_ns
  samples_n       INTEGER NOT NULL,
  flop            REAL    NOT NULL,                 -- that the mathematics needs
  bytes           REAL    NOT NULL,                 -- compulsory reads and writes
  sm_mhz          REAL,
  memory_mhz      REAL,
  temperature_c   REAL,
  power_w         REAL,
  throttle        TEXT,                             -- reasons, comma separated; '' = none
  measured_at     TEXT    NOT NULL,                 -- ISO 8601, UTC
  -- Raw samples, little-endian: byte 0 layout version (1); byte 1 flags, bit 0 = has a cycles
  -- column; bytes 2-3 zero; bytes 4-7 uint32 n; then columns of n int64 each: start_ns, device_ns,
  -- host_ns and, with the flag, cycles (-2^63 = not read for that sample).
  samples         BLOB    NOT NULL,
  UNIQUE (run_id, executor, placement_id, job_key, control)
) STRICT;
CREATE INDEX measurement_problem ON measurement (problem_id, variant_id);
CREATE INDEX measurement_variant ON measurement (variant_id);
CREATE INDEX measurement_placement ON measurement (placement_id);

-- What the runtime counted while it ran: engaged and fallen-back variants, lengths, grow events.
CREATE TABLE telemetry (
  id          TEXT NOT NULL PRIMARY KEY,            -- UUID
  run_id      TEXT REFERENCES run (id) ON DELETE CASCADE,  -- NULL: not part of a sweep
  recorded_at TEXT NOT NULL,                        -- ISO 8601, UTC
  command     TEXT NOT NULL,                        -- 'run --preset 125m --seq-len 2048'
  report      TEXT NOT NULL  -- schema "telemetry"
) STRICT;
CREATE INDEX telemetry_run ON telemetry (run_id);

-- One line per run.
CREATE VIEW run_summary AS
SELECT r.id, r.state, r.started_at, r.ended_at, r.build_id,
       (SELECT group_concat(d.name, ', ') FROM device d WHERE d.run_id = r.id) AS devices,
       count(m.id) AS measurements,
       coalesce(sum(m.outcome = 'ok'), 0) AS ok,
       coalesce(sum(m.verification = 'wrong_result'), 0) AS wrong_result,
       coalesce(sum(m.samples_n), 0) AS samples
FROM run r LEFT JOIN measurement m ON m.run_id = r.id
GROUP BY r.id;

-- One line per measurement, with its problem, variant and device spelled out.
CREATE VIEW measurement_summary AS
SELECT m.id, m.run_id, m.executor,
       coalesce((SELECT d.name FROM device d JOIN placement l ON l.device_uuid = d.uuid
                 WHERE d.run_id = m.run_id AND l.id = m.placement_id
                 ORDER BY l.position LIMIT 1), '') AS device,
       v.stages, v.name AS variant, v.point, p.direction, p.phase, p.batch, p.seq_len,
       p.context_len, p.q_heads, p.kv_heads, p.head_dim_k, p.head_dim_v, p.dtype, p.pattern,
       p.overlap, m.control, m.launch, m.timer, m.cold, m.outcome, m.verification, m.reason,
       m.median_ns / 1e6 AS median_ms, m.mad_ns / 1e6 AS mad_ms, m.samples_n,
       m.flop / m.median_ns / 1e3 AS tflop_per_s,
       m.bytes / m.median_ns AS gb_per_s,
       m.process, m.round, m.position, m.measured_at
FROM measurement m JOIN variant v ON v.id = m.variant_id JOIN problem p ON p.id = m.problem_id;

-- One line per variant, problem and run: only rows that may count (ok, no wrong result, no twin).
CREATE VIEW variant_summary AS
SELECT m.run_id, m.executor, m.placement_id, v.stages, v.id AS variant, p.phase, p.batch,
       p.seq_len, p.context_len, p.dtype, p.pattern, m.launch, m.timer, m.cold,
       count(*) AS measurements, sum(m.samples_n) AS samples,
       avg(m.median_ns) / 1e6 AS mean_of_medians_ms,
       min(m.median_ns) / 1e6 AS lowest_median_ms,
       max(m.median_ns) / 1e6 AS highest_median_ms,
       min(m.verification) = 'verified' AND max(m.verification) = 'verified' AS verified
FROM measurement m JOIN variant v ON v.id = m.variant_id JOIN problem p ON p.id = m.problem_id
WHERE m.outcome = 'ok' AND m.verification <> 'wrong_result' AND m.control = 0
GROUP BY m.run_id, m.executor, m.placement_id, m.variant_id, m.problem_id, m.launch, m.timer,
         m.cold;
