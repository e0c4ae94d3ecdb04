-- Version 2: what one launch of a variant really does, seen by `sweep --trace` in a pass apart from
-- the timed ones.
CREATE TABLE launch_trace (
  id                     TEXT    NOT NULL PRIMARY KEY,   -- UUID
  run_id                 TEXT    NOT NULL REFERENCES run (id) ON DELETE CASCADE,
  executor               TEXT    NOT NULL,               -- 'nsatune', or a foreign worker's name
  placement_id           TEXT    NOT NULL,               -- of the list in placement
  problem_id             TEXT    NOT NULL REFERENCES problem (id),
  variant_id             TEXT    NOT NULL REFERENCES variant (id),
  source_hash            TEXT    NOT NULL,               -- of the variant's sources
  launch                 TEXT    NOT NULL CHECK (launch IN ('eager', 'graph')),
  launches               INTEGER NOT NULL,               -- calls that put work on the device
  host_waits             INTEGER NOT NULL,               -- calls that waited for the device
  allocations            INTEGER NOT NULL,               -- calls that took memory
  host_to_device_bytes   INTEGER NOT NULL,
  device_to_host_bytes   INTEGER NOT NULL,
  device_to_device_bytes INTEGER NOT NULL,
  memset_bytes           INTEGER NOT NULL,
  busy_ns                INTEGER NOT NULL,               -- union of kernels, copies and sets
  span_ns                INTEGER NOT NULL,               -- first start to last end of them
  dropped                INTEGER NOT NULL,               -- records that were lost
  cupti_ns               REAL,                           -- median of some launches, by CUPTI
  events_ns              REAL,                           -- of the same launches, by CUDA events
  note                   TEXT    NOT NULL,               -- where the two disagree
  traced_at              TEXT    NOT NULL,               -- ISO 8601, UTC
  UNIQUE (run_id, executor, placement_id, problem_id, variant_id, launch)
) STRICT;
CREATE INDEX launch_trace_variant ON launch_trace (variant_id);

-- The kernels of a launch, in the order of their first start.
CREATE TABLE launch_trace_kernel (
  trace_id TEXT    NOT NULL REFERENCES launch_trace (id) ON DELETE CASCADE,
  position INTEGER NOT NULL,
  name     TEXT    NOT NULL,                             -- demangled
  count    INTEGER NOT NULL,
  total_ns INTEGER NOT NULL,
  PRIMARY KEY (trace_id, position)
) STRICT, WITHOUT ROWID;

-- One line per kernel of each traced launch.
CREATE VIEW launch_trace_summary AS
SELECT t.run_id, t.executor, t.variant_id AS variant, p.phase, p.batch, p.seq_len, p.context_len,
       p.dtype, t.launch, t.launches, t.host_waits, t.allocations, k.position, k.name AS kernel,
       k.count, k.total_ns, t.busy_ns, t.note
FROM launch_trace t JOIN problem p ON p.id = t.problem_id
     LEFT JOIN launch_trace_kernel k ON k.trace_id = t.id;
