-- Version 5: rows that were measured to judge a decision, at lengths between those that it rests on.
-- They decide nothing, so variant_summary leaves them out.
ALTER TABLE measurement ADD COLUMN held_out INTEGER NOT NULL DEFAULT 0 CHECK (held_out IN (0, 1));

-- One line per measurement, with its problem, variant and device spelled out.
DROP VIEW measurement_summary;
CREATE VIEW measurement_summary AS
SELECT m.id, m.run_id, m.executor,
       coalesce((SELECT d.name FROM device d JOIN placement l ON l.device_uuid = d.uuid
                 WHERE d.run_id = m.run_id AND l.id = m.placement_id
                 ORDER BY l.position LIMIT 1), '') AS device,
       v.stages, v.name AS variant, v.point, p.direction, p.phase, p.batch, p.seq_len,
       p.context_len, p.q_heads, p.kv_heads, p.head_dim_k, p.head_dim_v, p.dtype, p.pattern,
       p.overlap, m.control, m.held_out, m.launch, m.timer, m.cold, m.outcome, m.verification,
       m.reason, m.note,
       m.median_ns / 1e6 AS median_ms, m.mad_ns / 1e6 AS mad_ms, m.samples_n,
       m.flop / m.median_ns / 1e3 AS tflop_per_s,
       m.bytes / m.median_ns AS gb_per_s,
       m.process, m.round, m.position, m.measured_at
FROM measurement m JOIN variant v ON v.id = m.variant_id JOIN problem p ON p.id = m.problem_id;

-- One line per variant, problem and run: only rows that may count (ok, no wrong result, no twin,
-- not held out).
DROP VIEW variant_summary;
CREATE VIEW variant_summary AS
SELECT m.run_id, m.executor, m.placement_id, v.stages, v.id AS variant, p.phase, p.batch,
       p.seq_len, p.context_len, p.dtype, p.pattern, m.launch, m.timer, m.cold,
       count(*) AS measurements, sum(m.samples_n) AS samples,
       avg(m.median_ns) / 1e6 AS mean_of_medians_ms,
       min(m.median_ns) / 1e6 AS lowest_median_ms,
       max(m.median_ns) / 1e6 AS highest_median_ms,
       min(m.verification) = 'verified' AND max(m.verification) = 'verified' AS verified
FROM measurement m JOIN variant v ON v.id = m.variant_id JOIN problem p ON p.id = m.problem_id
WHERE m.outcome = 'ok' AND m.verification <> 'wrong_result' AND m.control = 0 AND m.held_out = 0
GROUP BY m.run_id, m.executor, m.placement_id, m.variant_id, m.problem_id, m.launch, m.timer,
         m.cold;
