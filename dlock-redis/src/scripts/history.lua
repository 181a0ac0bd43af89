-- Reads the record of the server's history, and begins a new history if the data may lack locks.
-- KEYS: the key of the record; then the counter, if one serves all names.
-- ARGV: the version of the layout, the `run_id` of the server, how a history begins whose record is of another
-- run, the least value of a new counter. Then further keys for the record, in other slots of this node.
-- Returns the time in microseconds, the record that was found, the record that counts now, and 1 if this call
-- has begun it. If the record is of another layout, it returns the first two only.
local call = redis.pcall
local layout, least = ARGV[1], tonumber(ARGV[4])
local stage, refused = promotion()
if refused then
  return redis.error_reply(refused)
end
local run = ARGV[2] .. stage
local now = redis.call('TIME')
local micros = string.format('%.0f', now[1] * 1000000 + now[2])

-- Tokens and counters of dlock are below this: such numbers are exact.
local TOKEN_MAX = 9007199254740991

local record_keys = {KEYS[1]}
for i = 5, #ARGV do
  record_keys[#record_keys + 1] = ARGV[i]
end

-- Whether a record is of this run. A server without a replica for `repl-backlog-ttl` forgets its promotion.
local function is_of_this_run(of)
  return of == run or stage == '' and string.sub(of, 1, #run + 1) == run .. '.'
end

-- The first record, and the newest one of this run.
local texts, found, former, current, since = {}, nil, nil, nil, nil
for i, key in ipairs(record_keys) do
  local text = call('GET', key)
  if type(text) == 'table' then
    if i == 1 then
      return text
    end
    -- The slot has moved away.
    text = nil
  elseif text then
    local version, of, begun = string.match(text, '^(%S+) (%S+) (%d+) ')
    if version ~= layout then
      return {micros, text}
    end
    -- A record of the future (the clock was set back) would delay grants on each connection.
    begun = tonumber(begun)
    if is_of_this_run(of) and begun <= tonumber(micros) + 1000000 and (not since or begun > since) then
      current, since = text, begun
    end
    if not found then
      found, former = text, of
    end
  end
  texts[i] = text
end
found = current or found

-- The counter has no ttl, either: a server that lost it may have lost locks, too.
local counter = KEYS[2] and call('GET', KEYS[2])
if current and KEYS[2] and counter == false then
  current, former = nil, run
end

local begun = 0
if not current then
  local how = found and former ~= run and (stage == '' and 'restart' or ARGV[3]) or 'new'
  current = table.concat({layout, run, micros, how, former or '-'}, ' ')
  begun = 1
end
for i, key in ipairs(record_keys) do
  if texts[i] ~= nil and texts[i] ~= current then
    local set = call('SET', key, current)
    if i == 1 and set.err then
      return set
    end
  end
end
if begun == 1 and KEYS[2] then
  local counted = type(counter) == 'string' and tonumber(counter) or 0
  if not (counted < TOKEN_MAX) then
    counted = 0
  end
  local set = call('SET', KEYS[2], string.format('%.0f', math.max(tonumber(micros), least, counted)))
  if set.err then
    return set
  end
end
return {micros, found or false, current, begun}
