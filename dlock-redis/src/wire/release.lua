-- Frees the attempt's own lock and nothing else (K4), and wakes those who wait for it.
-- KEYS: the lock. ARGV: attempt, channel, how to publish. Returns 1 if it was there.
local held = redis.call('GET', KEYS[1])
if not held or string.sub(held, 1, 32) ~= ARGV[1] then
  return 0
end
redis.call('DEL', KEYS[1])
if string.byte(held, -1) == 10 then
  redis.call(ARGV[3], ARGV[2], '')
end
return 1
