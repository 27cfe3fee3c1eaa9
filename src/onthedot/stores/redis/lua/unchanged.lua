-- Which of these schedules nobody else works on and have nothing live; and what else planning them asks for.
-- ARGV: now (nothing: the server's own time), hold for; then, with how many they are, the ids
-- Answers: now; how many schedules are due; whether others live, for whom these are held; the stamp of each or nothing;
-- the nodes.
local now = ARGV[1] == '' and clock_ms() or tonumber(ARGV[1])
local ids = words(3)
local nodes = redis.call('ZRANGE', KEYS[1] .. 'living', 0, -1)
local stamps, free = {}, {}
begin_holding({})
for i, row in ipairs(rows('schedules', ids)) do
  if row and not is_busy(ids[i]) and redis.call('EXISTS', KEYS[1] .. 'live:' .. ids[i]) == 0 then
    stamps[i] = string.sub(row, 1, 12)
    free[#free + 1] = ids[i]
  else
    stamps[i] = false
  end
end
local shared = #nodes > 1 and 1 or 0
if shared == 1 then hold(free, tonumber(ARGV[2])) end
return {now, redis.call('ZCOUNT', KEYS[1] .. 'due', '-inf', now), shared, stamps, {nodes, rows('nodes', nodes)}}
