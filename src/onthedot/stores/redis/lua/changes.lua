-- Lines of the audit, oldest first: ids and texts. ARGV: the list, before which id (nothing: the newest), how many
-- Of a line that is not there nothing comes before.
local all, key = KEYS[1] .. 'changes', KEYS[1] .. ARGV[1]

local function place_in(list, id)
  return redis.call('LPOS', list, id, 'RANK', -1)
end

-- How many of the list come before a line of another: they stand in it in the order in which all do.
local function count_before(place)
  local low, high = 0, redis.call('LLEN', key)
  while low < high do
    local middle = math.floor((low + high) / 2)
    local other = place_in(all, redis.call('LINDEX', key, middle))
    if not other or other < place then low = middle + 1 else high = middle end
  end
  return low
end

local stop = redis.call('LLEN', key)
if ARGV[2] ~= '' then
  stop = place_in(key, ARGV[2])
  local place = not stop and place_in(all, ARGV[2])
  stop = stop or place and count_before(place) or 0
end
local ids = stop > 0 and redis.call('LRANGE', key, math.max(stop - tonumber(ARGV[3]), 0), stop - 1) or {}
return {ids, rows('change', ids)}
