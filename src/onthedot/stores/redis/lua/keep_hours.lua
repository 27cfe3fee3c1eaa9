-- Keeps hours of statistics and moves `rolled`, if it is still where it was: answers whether it was.
-- It frees before it writes, so that it works on a server that is full: what is not counted is not forgotten.
-- ARGV: from which moment, to which; then of each hour its beginning, its place, and its text
if (redis.call('GET', KEYS[1] .. 'rolled') or '0') ~= ARGV[1] then return 0 end
redis.call('DEL', KEYS[1] .. 'rolled')
for i = 3, #ARGV, 3 do
  redis.call('HSET', KEYS[1] .. 'hours:' .. ARGV[i + 1], ARGV[i], ARGV[i + 2])
  redis.call('ZADD', KEYS[1] .. 'hours', ARGV[i], ARGV[i] .. '\n' .. ARGV[i + 1])
end
redis.call('SET', KEYS[1] .. 'rolled', ARGV[2])
return 1
