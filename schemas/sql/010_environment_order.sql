-- Version 10: runs that began in the same millisecond are in the order in which they were added,
-- as they are for the program; ids are random and order nothing.
DROP VIEW environment_change;
CREATE VIEW environment_change AS
WITH ordered AS (
  SELECT d.uuid AS device_uuid, d.name AS device, r.id AS run_id, r.started_at,
         lag(r.id) OVER (PARTITION BY d.uuid ORDER BY r.started_at, r.rowid) AS before_id
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
