-- Version 4: what was observed on the samples of an ok row has a column of its own, where it stood
-- in `reason` behind "note: ". A reason says why a row has no result, or a wrong one.
ALTER TABLE measurement ADD COLUMN note TEXT NOT NULL DEFAULT '';
UPDATE measurement SET note = replace(substr(reason, 7), '; note: ', '; '), reason = ''
WHERE outcome = 'ok' AND verification <> 'wrong_result' AND substr(reason, 1, 6) = 'note: ';

-- One line per measurement, with its problem, variant and device spelled out.
DROP VIEW measurement_summary;
CREATE VIEW measurement_summary AS
SELECT m.id, m.run_id, m.executor,
       coalesce((SELECT d.name FROM device d JOIN placement l ON l.device_uuid = d.uuid
                 WHERE d.run_id = m.run_id AND l.id = m.placement_id
                 ORDER BY l.position LIMIT 1), '') AS device,
       v.stages, v.name AS variant, v.point, p.direction, p.phase, p.batch, p.seq_len,
       p.context_len, p.q_heads, p.kv_heads, p.head_dim_k, p.head_dim_v, p.dtype, p.pattern,
       p.overlap, m.control, m.launch, m.timer, m.cold, m.outcome, m.verification, m.reason, m.note,
       m.median_ns / 1e6 AS median_ms, m.mad_ns / 1e6 AS mad_ms, m.samples_n,
       m.flop / m.median_ns / 1e3 AS tflop_per_s,
       m.bytes / m.median_ns AS gb_per_s,
       m.process, m.round, m.position, m.measured_at
FROM measurement m JOIN variant v ON v.id = m.variant_id JOIN problem p ON p.id = m.problem_id;
