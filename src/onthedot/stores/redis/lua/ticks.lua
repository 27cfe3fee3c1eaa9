-- What became of the ticks of schedules. ARGV: from which moment on, until which, how many of each; ids of schedules
-- Answers of each schedule the newest ended runs in that time, the first live runs, and the newest decisions at all.
local found, count = {}, tonumber(ARGV[3])
for i = 4, #ARGV do
  found[#found + 1] = {
    redis.call('ZREVRANGEBYSCORE', KEYS[1] .. 'marks:' .. ARGV[i], ARGV[2], ARGV[1], 'LIMIT', 0, count),
    redis.call('ZRANGE', KEYS[1] .. 'live:' .. ARGV[i], 0, AT_ONCE - 1),
    redis.call('LRANGE', KEYS[1] .. 'decisions:' .. ARGV[i], -count, -1),
  }
end
return found
