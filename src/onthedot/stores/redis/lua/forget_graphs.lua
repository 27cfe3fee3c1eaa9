-- Forgets graphs that nobody has asked to keep since they were found. ARGV: of each its hash and score in `graphs_seen`
-- Answers how many.
local gone = {}
for i = 1, #ARGV, 2 do
  local score = redis.call('ZSCORE', KEYS[1] .. 'graphs_seen', ARGV[i])
  local runs = redis.call('EXISTS', KEYS[1] .. 'graph_runs:' .. ARGV[i])
  if score and tonumber(score) == tonumber(ARGV[i + 1]) and runs == 0 then gone[#gone + 1] = ARGV[i] end
end
for_all('HDEL', 'graphs', gone)
for_all('ZREM', 'graphs_seen', gone)
return #gone
