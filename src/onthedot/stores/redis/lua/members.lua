-- The rows whose ids stand in a set, or in a sorted set up to a score.
-- ARGV: the table, the set, 'set' or the highest score, how many of a sorted set
local ids
if ARGV[3] == 'set' then
  ids = redis.call('SMEMBERS', KEYS[1] .. ARGV[2])
else
  ids = redis.call('ZRANGEBYSCORE', KEYS[1] .. ARGV[2], '-inf', ARGV[3], 'LIMIT', 0, ARGV[4])
end
return {ids, rows(ARGV[1], ids)}
