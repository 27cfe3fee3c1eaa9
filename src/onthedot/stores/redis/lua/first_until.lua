-- The first members of a sorted set up to a score, each with its score. ARGV: the set, the highest score, how many
return redis.call('ZRANGEBYSCORE', KEYS[1] .. ARGV[1], '-inf', ARGV[2], 'WITHSCORES', 'LIMIT', 0, ARGV[3])
