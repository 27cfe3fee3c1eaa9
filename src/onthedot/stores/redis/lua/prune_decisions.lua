-- Forgets the oldest decisions, up to so many. `decided` names their schedules in the order in which they were made.
-- ARGV: made at or before, how many
local forgotten = 0
while forgotten < tonumber(ARGV[2]) do
  local schedule_id = redis.call('LINDEX', KEYS[1] .. 'decided', 0)
  if not schedule_id then break end
  local key = KEYS[1] .. 'decisions:' .. schedule_id
  local oldest = redis.call('LINDEX', key, 0)
  if oldest and tonumber(string.match(oldest, '^%-?%d+')) > tonumber(ARGV[1]) then break end
  redis.call('LPOP', KEYS[1] .. 'decided')
  redis.call('LPOP', key)
  forgotten = forgotten + 1
end
return forgotten
