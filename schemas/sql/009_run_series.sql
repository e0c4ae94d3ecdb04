-- Version 9: what the nightly check reads of a run that has ended, made from its rows and nothing
-- else: a year of nights is read in a second instead of row by row. It goes when a row is added to
-- its run, and is made anew when the next run ends; a run without it is read row by row.
CREATE TABLE run_series (
  run_id       TEXT    NOT NULL REFERENCES run (id) ON DELETE CASCADE,
  placement_id TEXT    NOT NULL,
  problem_id   TEXT    NOT NULL,
  variant_id   TEXT    NOT NULL,
  executor     TEXT    NOT NULL,
  launch       TEXT    NOT NULL,
  timer        TEXT    NOT NULL,
  cold         INTEGER NOT NULL CHECK (cold IN (0, 1)),
  source_hash  TEXT    NOT NULL,                    -- of its last row
  tried        INTEGER NOT NULL CHECK (tried IN (0, 1)),  -- 0: unsupported or not built
  failure      TEXT    NOT NULL,                    -- of the last row without a result; '' = none
  failed_at    TEXT    NOT NULL,                    -- when that was; '' = never
  -- Per process: int64 process, double median_ns over its visits, double median cycles (NaN where a
  -- visit has no clock), little-endian. Twins (control) and held-out rows are not in it.
  processes    BLOB    NOT NULL,
  PRIMARY KEY (run_id, placement_id, problem_id, variant_id, executor, launch, timer, cold)
) STRICT, WITHOUT ROWID;
