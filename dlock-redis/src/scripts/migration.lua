-- Reads the record of a migration, or changes it if it is what is expected.
-- KEYS: the record. ARGV: to change it the new record, and the expected one unless none is expected.
-- Returns the record, or false if there is none; for a change 1 if it was made, else 0.
--
-- A former primary may not have the last changes, so a replica does not even read.
if not string.find(redis.call('INFO', 'replication'), 'role:master', 1, true) then
  return redis.error_reply('READONLY the server is a replica')
end
local found = redis.call('GET', KEYS[1])
local next, expected = ARGV[1], ARGV[2]
if not next then
  return found
end
if found ~= (expected or false) then
  return 0
end
redis.call('SET', KEYS[1], next)
return 1
