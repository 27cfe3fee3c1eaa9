-- Decisions made at or before a moment, from the oldest of each schedule on. ARGV: the moment, how many at most
-- `decided` has schedules by when their oldest decision was made, or earlier: one that grows has a later moment now.
-- Answers of each its schedule and when it was made.
local before, most = tonumber(ARGV[1]), 2 * tonumber(ARGV[2])
local found, later, offset = {}, {}, 0

local function look(schedule_id)
  local key, place = KEYS[1] .. 'decisions:' .. schedule_id, 0
  while #found < most do
    local texts = redis.call('LRANGE', key, place, place + 99)
    for _, text in ipairs(texts) do
      local made = decided_ms(text)
      if tonumber(made) and tonumber(made) > before then return place == 0 and made end
      if #found < most then found[#found + 1], found[#found + 2] = schedule_id, made end
      place = place + 1
    end
    if #texts < 100 then return place == 0 and 'none' end
  end
end

while #found < most do
  local ids = redis.call('ZRANGEBYSCORE', KEYS[1] .. 'decided', '-inf', before, 'LIMIT', offset, 100)
  for _, id in ipairs(ids) do
    if #found < most then later[id] = look(id) or nil end
  end
  if #ids < 100 then break end
  offset = offset + 100
end
for id, made in pairs(later) do
  if made == 'none' then
    redis.call('ZREM', KEYS[1] .. 'decided', id)
  else
    redis.pcall('ZADD', KEYS[1] .. 'decided', made, id) -- a server that is full refuses it: next time, then
  end
end
return found
