#!lua flags=allow-oom
-- Reads the record of a migration, or changes it if it is what is expected.
-- KEYS: the record. ARGV: to change it the new record, and the expected one unless none is expected.
-- Returns the record, or false if there is none; for a change 1 if it was made, else 0.
--
-- With the first line a replica refuses the script, also to read: a former primary may not have the last changes.
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
