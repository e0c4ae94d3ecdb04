-- Version 3: what the hardware counted during one launch of a variant, or why that was not read;
-- by `sweep --counters`, in a pass apart from the timed ones.
CREATE TABLE launch_counters (
  id               TEXT    NOT NULL PRIMARY KEY,         -- UUID
  run_id           TEXT    NOT NULL REFERENCES run (id) ON DELETE CASCADE,
  executor         TEXT    NOT NULL,                     -- 'nsatune', or a foreign worker's name
  placement_id     TEXT    NOT NULL,                     -- of the list in placement
  problem_id       TEXT    NOT NULL REFERENCES problem (id),
  variant_id       TEXT    NOT NULL REFERENCES variant (id),
  source_hash      TEXT    NOT NULL,                     -- of the variant's sources
  launch           TEXT    NOT NULL CHECK (launch IN ('eager', 'graph')),
  cold             INTEGER NOT NULL CHECK (cold IN (0, 1)),
  outcome          TEXT    NOT NULL,                     -- 'ok', or why there are no counters
  reason           TEXT    NOT NULL,                     -- of any outcome but ok
  chip             TEXT    NOT NULL,                     -- by the name of its counters
  dram_share       REAL,                                 -- of its peak, while any SM had work
  l2_share         REAL,
  tensor_share     REAL,
  dram_read_bytes  INTEGER,
  dram_write_bytes INTEGER,                              -- what stayed in L2 is not in it
  busy_ns          REAL,                                 -- any SM had work
  passes           INTEGER NOT NULL,                     -- launches that it took
  note             TEXT    NOT NULL,                     -- what the chip does not count
  counted_at       TEXT    NOT NULL,                     -- ISO 8601, UTC
  UNIQUE (run_id, executor, placement_id, problem_id, variant_id, launch)
) STRICT;
CREATE INDEX launch_counters_variant ON launch_counters (variant_id);

-- The metrics that the above is made of, by the chip's names, over the whole range.
CREATE TABLE launch_counter_metric (
  counters_id TEXT    NOT NULL REFERENCES launch_counters (id) ON DELETE CASCADE,
  position    INTEGER NOT NULL,
  name        TEXT    NOT NULL,
  value       REAL    NOT NULL,
  PRIMARY KEY (counters_id, position)
) STRICT, WITHOUT ROWID;

-- One line per launch that was counted, or was not.
CREATE VIEW launch_counters_summary AS
SELECT c.run_id, c.executor, c.variant_id AS variant, p.phase, p.batch, p.seq_len, p.context_len,
       p.dtype, c.launch, c.cold, c.outcome, c.reason, c.dram_share, c.l2_share, c.tensor_share,
       c.dram_read_bytes, c.dram_write_bytes, c.busy_ns, c.note
FROM launch_counters c JOIN problem p ON p.id = c.problem_id;
