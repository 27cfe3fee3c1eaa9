-- Keeps what nodes counted. ARGV: the first moment that is kept; then of each minute its moment, its node, and its text
-- It frees before it writes, so that it works on a server that is full. Answers how many it has forgotten.
local old = redis.call('ZRANGEBYSCORE', KEYS[1] .. 'minutes', '-inf', '(' .. ARGV[1], 'LIMIT', 0, AT_ONCE)
for_all('HDEL', 'minute', old)
for_all('ZREM', 'minutes', old)
for i = 2, #ARGV, 3 do
  if tonumber(ARGV[i]) >= tonumber(ARGV[1]) then
    local member = ARGV[i] .. '\n' .. ARGV[i + 1]
    redis.call('HSET', KEYS[1] .. 'minute', member, ARGV[i + 2])
    redis.call('ZADD', KEYS[1] .. 'minutes', ARGV[i], member)
  end
end
return #old
