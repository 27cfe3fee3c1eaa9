-- The newest decision of each of these schedules; false where there is none. ARGV: their ids
local found = {}
for i, id in ipairs(ARGV) do found[i] = redis.call('LINDEX', KEYS[1] .. 'decisions:' .. id, -1) end
return found
