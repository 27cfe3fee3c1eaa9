-- How many members sorted sets have. ARGV: their names
local sizes = {}
for i, name in ipairs(ARGV) do sizes[i] = redis.call('ZCARD', KEYS[1] .. name) end
return sizes
