-- Version 8: views name everything in which two of their lines can differ (the whole shape, the
-- device, the sources), and give a true median. docs/sql.md has queries over them.

-- One line per measurement, with its problem, variant and device spelled out.
DROP VIEW measurement_summary;
CREATE VIEW measurement_summary AS
SELECT m.id, m.run_id, m.executor,
       coalesce((SELECT d.name FROM device d JOIN placement l ON l.device_uuid = d.uuid
                 WHERE d.run_id = m.run_id AND l.id = m.placement_id
                 ORDER BY l.position LIMIT 1), '') AS device,
       (SELECT l.device_uuid FROM placement l WHERE l.id = m.placement_id
        ORDER BY l.position LIMIT 1) AS device_uuid,
       v.stages, v.name AS variant, v.point, m.source_hash,
       p.id AS problem_id, p.direction, p.phase, p.batch, p.seq_len, p.context_len, p.seq_lens,
       p.context_lens, p.q_heads, p.kv_heads, p.head_dim_k, p.head_dim_v, p.cmp_block,
       p.cmp_stride, p.sel_block, p.sel_count, p.window, p.dtype, p.pattern, p.overlap,
       p.model_dim, p.layers, p.vocab_size,
       m.control, m.held_out, m.launch, m.timer, m.cold, m.outcome, m.verification,
       m.worst_row_error, m.reason, m.note,
       m.median_ns / 1e6 AS median_ms, m.mad_ns / 1e6 AS mad_ms, m.samples_n,
       m.first_call_ns / 1e6 AS first_call_ms, m.workspace_bytes,
       m.flop / m.median_ns / 1e3 AS tflop_per_s,
       m.bytes / m.median_ns AS gb_per_s,
       m.process, m.round, m.position, m.measured_at
FROM measurement m JOIN variant v ON v.id = m.variant_id JOIN problem p ON p.id = m.problem_id;

-- One line per variant, problem, run, device and way of measuring: only rows that may count (ok, no
-- wrong result, no twin, not held out). `agreement`: share of the blocks of the reference that a
-- selection of reduced precision picks too; NULL for the others.
DROP VIEW variant_summary;
CREATE VIEW variant_summary AS
WITH counted AS (
  SELECT m.run_id, m.executor, m.placement_id, m.variant_id, m.problem_id, m.source_hash, m.launch,
         m.timer, m.cold, m.median_ns, m.samples_n, m.verification, m.flop, m.bytes,
         row_number() OVER (same ORDER BY m.median_ns) AS nth, count(*) OVER same AS n
  FROM measurement m
  WHERE m.outcome = 'ok' AND m.verification <> 'wrong_result' AND m.control = 0
        AND m.held_out = 0 AND m.median_ns IS NOT NULL
  WINDOW same AS (PARTITION BY m.run_id, m.executor, m.placement_id, m.variant_id, m.problem_id,
                               m.source_hash, m.launch, m.timer, m.cold))
SELECT c.run_id, c.executor, c.placement_id,
       coalesce((SELECT d.name FROM device d JOIN placement l ON l.device_uuid = d.uuid
                 WHERE d.run_id = c.run_id AND l.id = c.placement_id
                 ORDER BY l.position LIMIT 1), '') AS device,
       v.stages, v.id AS variant, c.source_hash,
       p.id AS problem_id, p.direction, p.phase, p.batch, p.seq_len, p.context_len, p.seq_lens,
       p.context_lens, p.q_heads, p.kv_heads, p.head_dim_k, p.head_dim_v, p.cmp_block,
       p.cmp_stride, p.sel_block, p.sel_count, p.window, p.dtype, p.pattern, p.overlap,
       p.model_dim, p.layers, p.vocab_size, c.launch, c.timer, c.cold,
       count(*) AS measurements, sum(c.samples_n) AS samples,
       avg(CASE WHEN c.nth IN ((c.n + 1) / 2, (c.n + 2) / 2) THEN c.median_ns END) / 1e6
         AS median_ms,                              -- of the medians of the measurements
       min(c.median_ns) / 1e6 AS lowest_median_ms,
       max(c.median_ns) / 1e6 AS highest_median_ms,
       min(c.verification) = 'verified' AND max(c.verification) = 'verified' AS verified,
       (SELECT 1.0 * a.same / a.blocks FROM agreement a
        WHERE a.run_id = c.run_id AND a.executor = c.executor AND a.placement_id = c.placement_id
              AND a.problem_id = c.problem_id AND a.variant_id = c.variant_id
              AND a.launch = c.launch) AS agreement
FROM counted c JOIN variant v ON v.id = c.variant_id JOIN problem p ON p.id = c.problem_id
GROUP BY c.run_id, c.executor, c.placement_id, c.variant_id, c.problem_id, c.source_hash, c.launch,
         c.timer, c.cold;

-- One line per kernel of each traced launch.
DROP VIEW launch_trace_summary;
CREATE VIEW launch_trace_summary AS
SELECT t.run_id, t.executor, t.placement_id, t.variant_id AS variant, t.source_hash,
       p.id AS problem_id, p.direction, p.phase, p.batch, p.seq_len, p.context_len, p.seq_lens,
       p.context_lens, p.q_heads, p.kv_heads, p.head_dim_k, p.head_dim_v, p.cmp_block,
       p.cmp_stride, p.sel_block, p.sel_count, p.window, p.dtype, p.pattern, p.overlap,
       p.model_dim, p.layers, p.vocab_size, t.launch, t.launches, t.host_waits, t.allocations,
       k.position, k.name AS kernel, k.count, k.total_ns, t.busy_ns, t.note
FROM launch_trace t JOIN problem p ON p.id = t.problem_id
     LEFT JOIN launch_trace_kernel k ON k.trace_id = t.id;

-- One line per launch that was counted, or was not.
DROP VIEW launch_counters_summary;
CREATE VIEW launch_counters_summary AS
SELECT c.run_id, c.executor, c.placement_id, c.variant_id AS variant, c.source_hash,
       p.id AS problem_id, p.direction, p.phase, p.batch, p.seq_len, p.context_len, p.seq_lens,
       p.context_lens, p.q_heads, p.kv_heads, p.head_dim_k, p.head_dim_v, p.cmp_block,
       p.cmp_stride, p.sel_block, p.sel_count, p.window, p.dtype, p.pattern, p.overlap,
       p.model_dim, p.layers, p.vocab_size, c.launch, c.cold, c.outcome, c.reason, c.dram_share,
       c.l2_share, c.tensor_share, c.dram_read_bytes, c.dram_write_bytes, c.busy_ns, c.note
FROM launch_counters c JOIN problem p ON p.id = c.problem_id;

-- One line per fact of the environment that is another one than in the run before on that device.
CREATE VIEW environment_change AS
WITH ordered AS (
  SELECT d.uuid AS device_uuid, d.name AS device, r.id AS run_id, r.started_at,
         lag(r.id) OVER (PARTITION BY d.uuid ORDER BY r.started_at, r.id) AS before_id
  FROM run r JOIN device d ON d.run_id = r.id),
named AS (
  SELECT o.*, f.key FROM ordered o JOIN environment_fact f ON f.run_id IN (o.run_id, o.before_id)
  WHERE o.before_id IS NOT NULL GROUP BY o.run_id, o.device_uuid, f.key)
SELECT n.device, n.device_uuid, n.before_id, n.run_id, n.started_at, n.key,
       b.value AS before_value, a.value AS after_value,  -- NULL = it was not there
       coalesce(a.epoch, b.epoch) AS epoch
FROM named n LEFT JOIN environment_fact b ON b.run_id = n.before_id AND b.key = n.key
     LEFT JOIN environment_fact a ON a.run_id = n.run_id AND a.key = n.key
WHERE b.value IS NOT a.value;
