-- Version 11: ids of variants spell coordinates as every other text does, 'fused_query.bq=64', with
-- the names of today (bq, chunk, reserve_rows, reserve_keys for t, c, rn, rk), so that rows of
-- before and of now share a variant. An id keeps its '#hash' where a name in it is no word.
CREATE TEMP TABLE respelled AS
WITH coordinate AS (
  SELECT v.id, v.stages, v.name, c.id AS place, c.value, c.type,
         CASE v.stages || '/' || v.name || '.' || c.key
           WHEN 'attend_selected/fused_query.t' THEN 'bq'
           WHEN 'attend_selected/fused_block.c' THEN 'chunk'
           WHEN 'attend_selected/packed.rn' THEN 'reserve_rows'
           WHEN 'attend_selected/varlen_v2.rk' THEN 'reserve_keys' ELSE c.key END AS key
  FROM variant v, json_each(iif(json_valid(v.point), v.point, '{}')) c ORDER BY v.id, place),
joined AS (
  SELECT id, stages, name, group_concat(key || '=' || value, '.') AS text,
         group_concat(json_quote(key) || ':' || value, ',') AS point,
         max(key = '' OR key || name GLOB '*[^a-zA-Z0-9_-]*') AS odd
  FROM coordinate GROUP BY id, stages, name HAVING min(type = 'integer'))
SELECT id AS old_id, stages, name, '{' || point || '}' AS point,
       stages || '/' || name || '.' || text ||
         CASE WHEN odd AND instr(id, '#') THEN substr(id, instr(id, '#')) ELSE '' END AS new_id
FROM joined;
CREATE UNIQUE INDEX temp.respelled_id ON respelled (old_id);
DELETE FROM respelled WHERE old_id = new_id;

INSERT OR IGNORE INTO variant (id, stages, name, point)
SELECT new_id, stages, name, point FROM respelled;
UPDATE measurement SET variant_id = r.new_id FROM respelled r WHERE r.old_id = variant_id;
-- Of a run that two programs went on with, a launch may be there under both spellings.
UPDATE OR REPLACE launch_trace SET variant_id = r.new_id FROM respelled r
WHERE r.old_id = variant_id;
UPDATE OR REPLACE launch_counters SET variant_id = r.new_id FROM respelled r
WHERE r.old_id = variant_id;
UPDATE OR REPLACE agreement SET variant_id = r.new_id FROM respelled r WHERE r.old_id = variant_id;
-- Made anew from the rows.
DELETE FROM run_series WHERE run_id IN (
  SELECT s.run_id FROM run_series s JOIN respelled r ON r.old_id = s.variant_id);
DELETE FROM variant WHERE id IN (SELECT old_id FROM respelled);
DROP TABLE respelled;
