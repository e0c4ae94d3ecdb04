-- Version 13: problems of both passes of a composite. As in version 12, rows are taken out of their
-- table and put back.
PRAGMA defer_foreign_keys = ON;
CREATE TEMP TABLE kept_problem AS SELECT * FROM problem;
DROP TABLE problem;
-- One NSA call with its shape, batch and data. Lengths are in tokens.
CREATE TABLE problem (
  id           TEXT    NOT NULL PRIMARY KEY,        -- hash of the columns below
  direction    TEXT    NOT NULL CHECK (direction IN ('forward', 'backward', 'forward_saving',
                                                         'forward_backward')),
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
INSERT INTO problem SELECT * FROM kept_problem;
DROP TABLE kept_problem;
