-- The ids in a sorted set up to a score, and their rows. ARGV: the table, the set, the highest score, how many
local ids = redis.call('ZRANGEBYSCORE', KEYS[1] .. ARGV[2], '-inf', ARGV[3], 'LIMIT', 0, ARGV[4])
return {ids, rows(ARGV[1], ids)}
