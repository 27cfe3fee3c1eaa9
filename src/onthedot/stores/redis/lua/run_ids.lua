-- The newest runs, by id. ARGV: the schedule's name (or nothing), up to where, how many, then the states
-- Answers the first so many of every state, or all live ones and the first so many ended ones of the schedule.
local name, below, limit = ARGV[1], ARGV[2], tonumber(ARGV[3])
local ids = {}
if name == '' then
  for i = 4, #ARGV do
    local part = redis.call('ZREVRANGEBYLEX', KEYS[1] .. 'state:' .. ARGV[i], below, '-', 'LIMIT', 0, limit)
    for _, id in ipairs(part) do ids[#ids + 1] = id end
  end
  return ids
end

local function is_wanted(id)
  for i = 4, #ARGV do
    if redis.call('ZSCORE', KEYS[1] .. 'state:' .. ARGV[i], id) then return true end
  end
  return false
end

local schedule_id = redis.call('HGET', KEYS[1] .. 'names', name)
if schedule_id then
  for _, id in ipairs(redis.call('ZRANGE', KEYS[1] .. 'live:' .. schedule_id, 0, -1)) do
    if is_wanted(id) then ids[#ids + 1] = id end
  end
end
local ended, offset = 0, 0
while ended < limit do
  local part = redis.call('ZREVRANGEBYLEX', KEYS[1] .. 'ended:' .. name, below, '-', 'LIMIT', offset, 500)
  for _, id in ipairs(part) do
    if ended < limit and is_wanted(id) then
      ids[#ids + 1] = id
      ended = ended + 1
    end
  end
  if #part < 500 then break end
  offset = offset + 500
end
return ids
