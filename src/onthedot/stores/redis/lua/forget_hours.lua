-- Forgets hours of statistics. ARGV: their members in `hours`. Answers how many there were.
local found = 0
for i = 1, #ARGV do
  local hour, place = string.match(ARGV[i], '^(%d+)\n(.*)$')
  if hour then
    redis.call('HDEL', KEYS[1] .. 'hours:' .. place, hour)
    found = found + redis.call('ZREM', KEYS[1] .. 'hours', ARGV[i])
  end
end
return found
