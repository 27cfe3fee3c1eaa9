-- Forgets the oldest lines of the audit. ARGV: how many; their ids; then the schedules that they are of
-- Answers how many of them were the oldest.
local count, ids = tonumber(ARGV[1]), {}
for i = 2, count + 1 do
  if redis.call('LINDEX', KEYS[1] .. 'changes', 0) == ARGV[i] then
    redis.call('LPOP', KEYS[1] .. 'changes')
    ids[#ids + 1] = ARGV[i]
  end
end
for_all('HDEL', 'change', ids)
for i = count + 2, #ARGV do
  local key = KEYS[1] .. 'changes:' .. ARGV[i]
  local oldest = redis.call('LINDEX', key, 0)
  while oldest and redis.call('HEXISTS', KEYS[1] .. 'change', oldest) == 0 do
    redis.call('LPOP', key)
    oldest = redis.call('LINDEX', key, 0)
  end
end
return #ids
