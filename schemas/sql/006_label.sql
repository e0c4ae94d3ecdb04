-- Version 6: names that people give to runs, and rows whose samples were dropped to save space.
-- A run may have several labels, and a label several runs.
CREATE TABLE run_label (
  run_id TEXT NOT NULL REFERENCES run (id) ON DELETE CASCADE,
  label  TEXT NOT NULL CHECK (label <> ''),         -- 'v1.2'
  PRIMARY KEY (run_id, label)
) STRICT, WITHOUT ROWID;
CREATE INDEX run_label_label ON run_label (label);

-- `db prune` drops samples and keeps everything else of a row: `samples` is then empty (zero bytes,
-- where one without samples has its header of eight), and samples_n says how many there were.
-- One line per run.
DROP VIEW run_summary;
CREATE VIEW run_summary AS
SELECT r.id, r.state, r.started_at, r.ended_at, r.build_id,
       (SELECT group_concat(d.name, ', ') FROM device d WHERE d.run_id = r.id) AS devices,
       (SELECT group_concat(l.label, ', ') FROM run_label l WHERE l.run_id = r.id) AS labels,
       count(m.id) AS measurements,
       coalesce(sum(m.outcome = 'ok'), 0) AS ok,
       coalesce(sum(m.verification = 'wrong_result'), 0) AS wrong_result,
       coalesce(sum(m.samples_n), 0) AS samples,
       coalesce(sum(length(m.samples) = 0), 0) AS without_samples  -- rows that were pruned
FROM run r LEFT JOIN measurement m ON m.run_id = r.id
GROUP BY r.id;
