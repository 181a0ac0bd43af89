-- Raises the token counter while attempts hold their locks. Never lowers it (K5).
-- KEYS: the counter, the locks. ARGV: for each lock its attempt and the token.
-- Returns for each lock 1 if the attempt holds it and the counter is as large, 0 if not, or {an error}.
--
-- Tokens and counters of dlock are below this: such numbers are exact.
local TOKEN_MAX = 9007199254740991

local found, largest = {}, 0
for i = 2, #KEYS do
  local attempt, token = ARGV[2 * i - 3], tonumber(ARGV[2 * i - 2])
  local value
  if hashes then
    value = hashes.read(KEYS[i])
  else
    value = redis.pcall('GET', KEYS[i])
  end
  found[i - 1] = 0
  if token >= TOKEN_MAX then
    found[i - 1] = {'ERR the token is too large for the counter'}
  elseif type(value) == 'string' and string.sub(value, 1, 32) == attempt then
    found[i - 1] = 1
    largest = math.max(largest, token)
  -- A key of another type is not the attempt's lock either.
  elseif type(value) == 'table' and not string.find(value.err, 'WRONGTYPE', 1, true) then
    found[i - 1] = {value.err}
  end
end
if largest == 0 then
  return found
end
local counted = redis.call('GET', KEYS[1])
if not counted then
  -- The server has lost data: the next grant notices it.
  for i = 1, #found do
    found[i] = found[i] == 1 and 0 or found[i]
  end
  return found
end
counted = tonumber(counted)
if not (counted and counted >= largest and counted < TOKEN_MAX) then
  -- The sign marks a number that is not the time of a grant of this server.
  redis.call('SET', KEYS[1], string.format('+%.0f', largest))
end
return found
