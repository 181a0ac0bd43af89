-- Takes each lock that is free. Run twice for one attempt it grants once, with one token (K5, K9).
-- KEYS: for each the lock and its counter. ARGV: for each its attempt, ttl in ms, holder in words, and
-- '1' if it will wait; in the end the least token to give.
-- Returns for each its token, {remaining ttl in ms, 1 if a dlock client holds it}, or {an error}.
local floor = tonumber(ARGV[#ARGV])

local function is_about(refused, what)
  return string.find(refused, what, 1, true)
end

local function take(lock, fence, attempt, ttl, holder, waits)
  local token = redis.pcall('INCR', fence)
  local refused = type(token) == 'table' and token.err
  if not refused then
    if token < floor then
      -- The counter is new, was forgotten with everything else, or is an older one that a snapshot
      -- or a replica had kept. The clock is past all that it was (K5).
      local now = redis.call('TIME')
      token = math.max(now[1] * 1000000 + now[2], floor)
      redis.call('SET', fence, string.format('%.0f', token), 'EX', 3600)
    end
    local value = attempt .. ' ' .. string.format('%.0f', token) .. ' ' .. holder
    -- Most locks are free: looking first would cost them a command. A taken one skips a number.
    if redis.call('SET', lock, value, 'NX', 'PX', ttl) then
      return token
    end
  elseif is_about(refused, 'WRONGTYPE') or is_about(refused, 'not an integer') then
    return {refused}
  elseif is_about(refused, 'READONLY') then
    -- A replica: what it says of the lock is old (T10). The error is everybody's.
    redis.call('INCR', fence)
  end
  local held = redis.pcall('GET', lock)
  if type(held) == 'table' then
    return {held.err}
  end
  if not held then
    -- Free, but the server writes nothing at present. The error is everybody's.
    redis.call('INCR', fence)
  end
  if string.sub(held, 1, 32) == attempt then
    redis.call('PEXPIRE', lock, ttl)
    return tonumber(string.match(held, '^%x+ (%d+)'))
  end
  local ours = string.find(held, '^%x+ %d+ %d+ %d+@') and 1 or 0
  -- A mark at the end of the value asks its holder to publish the release: nobody else needs it to.
  -- Without it, the wait is for the end of the ttl.
  if ours == 1 and waits == '1' and string.byte(held, -1) ~= 10 then
    redis.pcall('APPEND', lock, '\n')
  end
  return {redis.call('PTTL', lock), ours}
end

local found = {}
for i = 1, #KEYS / 2 do
  local a = 4 * i - 3
  found[i] = take(KEYS[2 * i - 1], KEYS[2 * i], ARGV[a], ARGV[a + 1], ARGV[a + 2], ARGV[a + 3])
end
return found
