-- Definitions that were replaced at or before a moment, with the oldest that their schedules have.
-- ARGV: the moment, from which one on, how many
-- Answers of each: its member and score in `replaced`, its schedule's oldest run and oldest decision, or nothing.
local members = redis.call('ZRANGEBYSCORE', KEYS[1] .. 'replaced', '-inf', ARGV[1], 'WITHSCORES', 'LIMIT', ARGV[2], ARGV[3])
local found, known = {}, {}

local function oldest(schedule_id, name)
  local run = head(redis.call('ZRANGE', KEYS[1] .. 'ended:' .. name, 0, 0)[1] or '')
  for _, id in ipairs(redis.call('ZRANGE', KEYS[1] .. 'live:' .. schedule_id, 0, -1)) do
    if run == '' or id < run then run = id end
  end
  return {run, redis.call('LINDEX', KEYS[1] .. 'decisions:' .. schedule_id, 0) or ''}
end

for i = 1, #members, 2 do
  local schedule_id, rest = split(members[i])
  local _, name = split(rest)
  known[schedule_id] = known[schedule_id] or oldest(schedule_id, name)
  for _, each in ipairs({members[i], members[i + 1], known[schedule_id][1], known[schedule_id][2]}) do
    found[#found + 1] = each
  end
end
return found
