-- A page of schedules, by name. ARGV: an index of names, from where, how many
local names = redis.call('ZRANGEBYLEX', KEYS[1] .. ARGV[1], ARGV[2], '+', 'LIMIT', 0, ARGV[3])
local ids = rows('names', names)
return {ids, rows('schedules', ids)}
