-- Live runs of crowded schedules: ids, rows, and how many of each.
-- ARGV: for each schedule its id, how many that wait, how many that run (-1: all)
local ids, sizes = {}, {}
for at = 1, #ARGV, 3 do
  local key, before = KEYS[1] .. 'live:' .. ARGV[at], #ids
  local running = redis.call('ZRANGEBYSCORE', key, RUNS_FIRST, RUNS_FIRST, 'LIMIT', 0, ARGV[at + 2])
  local waiting = redis.call('ZRANGEBYSCORE', key, '(' .. RUNS_FIRST, '+inf', 'LIMIT', 0, ARGV[at + 1])
  for _, id in ipairs(running) do ids[#ids + 1] = id end
  for _, id in ipairs(waiting) do ids[#ids + 1] = id end
  sizes[#sizes + 1] = #ids - before
end
return {ids, rows('runs', ids), sizes}
