-- The steps of these flows that are not in history: ids and rows. ARGV: ids of flows
local ids = {}
for _, flow in ipairs(ARGV) do
  for _, id in ipairs(redis.call('SMEMBERS', KEYS[1] .. 'steps:' .. flow)) do ids[#ids + 1] = id end
end
return {ids, rows('runs', ids)}
