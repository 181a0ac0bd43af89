-- Identifies the last promotion of this server, by its former primary and its replication offset. Empty if it
-- was never promoted. The `run_id` stays when a primary becomes a replica and is promoted again, with data that
-- lack the last locks; this does not. Returns nil and the error if it cannot be read.
local function promotion()
  local info = redis.pcall('INFO', 'replication')
  if type(info) == 'table' then
    return nil, info.err
  end
  local offset = string.match(info, 'second_repl_offset:(%-?%d+)')
  if not offset or offset == '-1' then
    return ''
  end
  return '.' .. string.sub(string.match(info, 'master_replid2:(%w+)') or '', 1, 8) .. '.' .. offset
end

