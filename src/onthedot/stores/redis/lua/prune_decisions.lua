-- Forgets the oldest decisions, up to so many. `decided` has their schedules by the moment of the oldest one, or earlier:
-- the last one of a schedule may have grown since.
-- ARGV: made at or before, how many
local forgotten = 0
while forgotten < tonumber(ARGV[2]) do
  local decided = KEYS[1] .. 'decided'
  local schedule_id = redis.call('ZRANGEBYSCORE', decided, '-inf', ARGV[1], 'LIMIT', 0, 1)[1]
  if not schedule_id then break end
  local key = KEYS[1] .. 'decisions:' .. schedule_id
  local oldest = redis.call('LINDEX', key, 0)
  local made = oldest and string.match(oldest, '^%-?%d+')
  if not made then
    redis.call('ZREM', decided, schedule_id)
  elseif tonumber(made) > tonumber(ARGV[1]) then
    redis.call('ZADD', decided, made, schedule_id)
  else
    redis.call('LPOP', key)
    forgotten = forgotten + 1
  end
end
return forgotten
