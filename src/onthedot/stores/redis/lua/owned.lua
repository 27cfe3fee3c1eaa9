-- The time, the row of a node, and the ids and rows of the runs that it owns. ARGV: the node's id
local ids = redis.call('SMEMBERS', KEYS[1] .. 'owned:' .. ARGV[1])
return {clock_ms(), redis.call('HGET', KEYS[1] .. 'nodes', ARGV[1]), ids, rows('runs', ids)}
