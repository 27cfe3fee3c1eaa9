-- Lines of the audit, oldest first: ids and texts. ARGV: the list, before which id (nothing: the newest), how many
-- Of a line that is not there nothing comes before.
local key, stop = KEYS[1] .. ARGV[1], redis.call('LLEN', KEYS[1] .. ARGV[1])
if ARGV[2] ~= '' then stop = redis.call('LPOS', key, ARGV[2], 'RANK', -1) or 0 end
local ids = stop > 0 and redis.call('LRANGE', key, math.max(stop - tonumber(ARGV[3]), 0), stop - 1) or {}
return {ids, rows('change', ids)}
