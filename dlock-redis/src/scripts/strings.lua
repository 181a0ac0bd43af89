-- Locks are strings: the value is the line of the holder.
local hashes = nil

