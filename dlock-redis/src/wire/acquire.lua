-- Takes the lock if it is free. Run twice for one attempt it grants once, with one token (K5, K9).
-- KEYS: the lock, its counter. ARGV: attempt, ttl in ms, holder in words, '1' if it will wait, the
-- least token to give.
-- Returns the token, or {remaining ttl in ms, 1 if a dlock client holds it}.
local token = redis.call('INCR', KEYS[2])
local floor = tonumber(ARGV[5])
if token < floor then
  -- The counter is new, was forgotten with everything else, or is an older one that a snapshot or a
  -- replica had kept. The clock is past all that it was (K5).
  local now = redis.call('TIME')
  token = math.max(now[1] * 1000000 + now[2], floor)
  redis.call('SET', KEYS[2], string.format('%.0f', token), 'EX', 3600)
end
local value = ARGV[1] .. ' ' .. string.format('%.0f', token) .. ' ' .. ARGV[3]
-- Most locks are free: looking first would cost them a command. What a taken one counts is skipped.
if redis.call('SET', KEYS[1], value, 'NX', 'PX', ARGV[2]) then
  return token
end
local held = redis.call('GET', KEYS[1])
if string.sub(held, 1, 32) == ARGV[1] then
  redis.call('PEXPIRE', KEYS[1], ARGV[2])
  return tonumber(string.match(held, '^%x+ (%d+)'))
end
local ours = string.find(held, '^%x+ %d+ %d+ %d+@') and 1 or 0
-- A mark at the end of the value asks its holder to publish the release: nobody else needs it to.
if ours == 1 and ARGV[4] == '1' and string.byte(held, -1) ~= 10 then
  redis.call('APPEND', KEYS[1], '\n')
end
return {redis.call('PTTL', KEYS[1]), ours}
