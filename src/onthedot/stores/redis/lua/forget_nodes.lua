-- Forgets nodes that are gone and hold no runs, with the tasks that they published. ARGV: of each its id and score in `gone`
-- Answers how many.
local ids = {}
for i = 1, #ARGV, 2 do
  local score = redis.call('ZSCORE', KEYS[1] .. 'gone', ARGV[i])
  local holds = redis.call('EXISTS', KEYS[1] .. 'owned:' .. ARGV[i]) == 1
  if score and tonumber(score) == tonumber(ARGV[i + 1]) and not holds then ids[#ids + 1] = ARGV[i] end
end
for _, name in ipairs({'nodes', 'node_states', 'tasks'}) do for_all('HDEL', name, ids) end
for_all('ZREM', 'gone', ids)
return #ids
