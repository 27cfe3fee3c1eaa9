-- The time, and the ids and rows of all nodes that live, by start.
local ids = redis.call('ZRANGE', KEYS[1] .. 'living', 0, -1)
return {clock_ms(), ids, rows('nodes', ids)}
