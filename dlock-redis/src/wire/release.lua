-- Frees each attempt's own lock and nothing else (K4), and wakes those who wait for it.
-- KEYS: the locks. ARGV: for each its attempt; in the end how to publish.
-- Returns for each 1 if it was there.
local found = {}
for i = 1, #KEYS do
  local held = redis.pcall('GET', KEYS[i])
  -- Something of another type is not ours either.
  if type(held) == 'string' and string.sub(held, 1, 32) == ARGV[i] then
    redis.call('DEL', KEYS[i])
    if string.byte(held, -1) == 10 then
      redis.call(ARGV[#ARGV], '{' .. KEYS[i] .. '}:free', '')
    end
    found[i] = 1
  else
    found[i] = 0
  end
end
return found
