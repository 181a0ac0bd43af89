-- Locks are hashes, as those of Redisson's `RLock`. The only field is the line of the holder, and its value 1: Redisson
-- counts there how often a thread has the lock. A field of Redisson is `UUID:THREAD`, so neither client takes the other's
-- field for its own.
local hashes = {}

-- The message of a release.
hashes.released = '0'

-- Sets a lock that is free: a status, false if it is taken, or an error.
function hashes.set(lock, line, ttl)
  local there = redis.pcall('EXISTS', lock)
  if there ~= 0 then
    return type(there) == 'table' and there
  end
  local set = redis.pcall('HSET', lock, line, 1)
  if type(set) == 'table' then
    return set
  end
  local ends = redis.pcall('PEXPIRE', lock, ttl)
  if type(ends) == 'table' then
    -- It would never end.
    redis.pcall('DEL', lock)
    return ends
  end
  return {ok = 'OK'}
end

-- Reads the line of the holder: false without one, an empty text for a hash with several fields, or an error.
function hashes.read(lock)
  -- Two fields are enough to see that it is another hash, however large that is.
  local fields = redis.pcall('HRANDFIELD', lock, 2)
  if fields.err then
    return fields
  elseif #fields == 0 then
    return false
  end
  return #fields == 1 and fields[1] or ''
end

