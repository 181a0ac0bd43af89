-- When this server was promoted, in a word: which server's data it took over, and how far it had got. Empty
-- if it never was. The run stays when a primary becomes a replica of another one and is promoted again, with
-- data that lack the last locks; this does not (T10).
local function promotion()
  local info = redis.call('INFO', 'replication')
  local offset = string.match(info, 'second_repl_offset:(%-?%d+)')
  if not offset or offset == '-1' then
    return ''
  end
  return '.' .. string.sub(string.match(info, 'master_replid2:(%w+)') or '', 1, 8) .. '.' .. offset
end

