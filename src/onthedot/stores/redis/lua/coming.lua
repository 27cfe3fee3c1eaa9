-- The ids of schedules that are due in (after, until], and the stamps of their rows. ARGV: after, until
local ids = redis.call('ZRANGEBYSCORE', KEYS[1] .. 'due', '(' .. ARGV[1], ARGV[2])
local stamps = rows('schedules', ids)
for i, row in ipairs(stamps) do stamps[i] = row and string.sub(row, 1, 12) end
return {ids, stamps}
