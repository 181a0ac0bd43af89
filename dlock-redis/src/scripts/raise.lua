-- Raises the token counter while the attempt holds the lock. Never lowers it (K5).
-- KEYS: the counter, the lock. ARGV: the attempt, the token.
-- Returns 1 if the attempt holds the lock, else 0.
--
-- Numbers are exact below this.
local TOKEN_MAX = 9007199254740992

local attempt, token = ARGV[1], tonumber(ARGV[2])
if token >= TOKEN_MAX - 1 then
  return redis.error_reply('ERR the token is too large for the counter')
end
local value = redis.pcall('GET', KEYS[2])
-- A key of another type is not the attempt's lock either.
if type(value) ~= 'string' or string.sub(value, 1, 32) ~= attempt then
  return type(value) == 'table' and not string.find(value.err, 'WRONGTYPE', 1, true) and value or 0
end
local counted = redis.call('GET', KEYS[1])
if not counted then
  -- The server has lost data: the next grant notices it.
  return 0
end
counted = tonumber(counted)
if not counted or counted < token or counted >= TOKEN_MAX then
  -- The sign marks a number that is not the time of a grant of this server.
  redis.call('SET', KEYS[1], '+' .. ARGV[2])
end
return 1
