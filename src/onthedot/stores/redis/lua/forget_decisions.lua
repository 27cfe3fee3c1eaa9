-- Forgets decisions, each if it is still the oldest of its schedule. ARGV: of each its schedule and when it was made
-- It frees before it writes, so that it works on a server that is full. Answers how many.
local forgotten, of = 0, {}
for i = 1, #ARGV, 2 do
  local key = KEYS[1] .. 'decisions:' .. ARGV[i]
  local oldest = redis.call('LINDEX', key, 0)
  if oldest and decided_ms(oldest) == ARGV[i + 1] then
    redis.call('LPOP', key)
    forgotten = forgotten + 1
    of[ARGV[i]] = true
  end
end
for schedule_id in pairs(of) do
  local oldest = redis.call('LINDEX', KEYS[1] .. 'decisions:' .. schedule_id, 0)
  if oldest then
    redis.call('ZADD', KEYS[1] .. 'decided', tonumber(decided_ms(oldest)) or 0, schedule_id)
  else
    redis.call('ZREM', KEYS[1] .. 'decided', schedule_id)
  end
end
return forgotten
