-- Looks whether the data remembers what was granted, and begins a new history if it does not (T14).
-- KEYS: where the record is; then the counter, where there is one for all names. ARGV: the version of the
-- layout, the `run_id` of the server, how a history begins that follows another run's, the least token to give;
-- then further keys for the record, of other slots of this node.
-- Returns the time in microseconds, the record that was found, the one that counts now, and 1 if it was
-- begun just now; only the first two if the layout is another one.
local call = redis.pcall
local layout, stage, least = ARGV[1], promotion(), tonumber(ARGV[4])
local run = ARGV[2] .. stage
local now = redis.call('TIME')
local micros = string.format('%.0f', now[1] * 1000000 + now[2])

-- Numbers are exact below this.
local TOKEN_MAX = 9007199254740992

local places = {KEYS[1]}
for i = 5, #ARGV do
  places[#places + 1] = ARGV[i]
end

-- Whether a record is this run's. Who has had no replica for `repl-backlog-ttl` forgets that it was promoted.
local function is_ours(of)
  return of == run or stage == '' and string.sub(of, 1, #run + 1) == run .. '.'
end

-- The first record that there is, and the newest of this run.
local texts, found, former, ours, since = {}, nil, nil, nil, nil
for i, place in ipairs(places) do
  local text = call('GET', place)
  if type(text) == 'table' then
    if i == 1 then
      return text
    end
    -- The slot has moved away: no place any more.
    text = nil
  elseif text then
    local version, of, begun = string.match(text, '^(%S+) (%S+) (%d+) ')
    if version ~= layout then
      return {micros, text}
    end
    -- One that begins in the future, as the clock was set back, would be waited for with each connection.
    if is_ours(of) and tonumber(begun) <= tonumber(micros) + 1000000 and (not since or tonumber(begun) > since) then
      ours, since = text, tonumber(begun)
    end
    if not found then
      found, former = text, of
    end
  end
  texts[i] = text
end
found = ours or found

-- The counter has no end, either: who lost it may have lost locks, too.
local counter = KEYS[2] and call('GET', KEYS[2])
if ours and KEYS[2] and counter == false then
  ours, former = nil, run
end

local begun = 0
if not ours then
  local how = found and former ~= run and (stage == '' and 'restart' or ARGV[3]) or 'new'
  ours = table.concat({layout, run, micros, how, former or '-'}, ' ')
  begun = 1
end
for i, place in ipairs(places) do
  if texts[i] ~= nil and texts[i] ~= ours then
    local set = call('SET', place, ours)
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
return {micros, found or false, ours, begun}
