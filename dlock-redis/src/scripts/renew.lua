-- Renews locks; never creates one (K3).
-- KEYS: locks. ARGV: for each its attempt and its ttl in ms.
-- Returns for each 1 if the attempt holds it, 0 if it is gone, -1 if another holder has the key, or {an error}.
local found = {}
for i = 1, #KEYS do
  local value
  if hashes then
    value = hashes.read(KEYS[i])
  else
    value = redis.pcall('GET', KEYS[i])
  end
  if type(value) == 'string' and string.sub(value, 1, 32) == ARGV[2 * i - 1] then
    redis.call('PEXPIRE', KEYS[i], ARGV[2 * i])
    found[i] = 1
  elseif value == false then
    found[i] = 0
  -- A key of another type is another holder's.
  elseif type(value) == 'table' and not string.find(value.err, 'WRONGTYPE', 1, true) then
    found[i] = {value.err}
  else
    found[i] = -1
  end
end
return found
