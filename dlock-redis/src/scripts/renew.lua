-- Moves the end of locks; never makes one (K3).
-- KEYS: locks. ARGV: for each its attempt and its ttl in ms.
-- Returns for each 1 if it is held, 0 if it is gone, -1 if somebody else has the key.
local found = {}
for i = 1, #KEYS do
  local held = redis.pcall('GET', KEYS[i])
  if type(held) == 'string' and string.sub(held, 1, 32) == ARGV[2 * i - 1] then
    redis.call('PEXPIRE', KEYS[i], ARGV[2 * i])
    found[i] = 1
  elseif held == false then
    found[i] = 0
  else
    found[i] = -1
  end
end
return found
