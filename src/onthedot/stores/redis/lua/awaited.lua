-- The lanes in which a run is due, in order. ARGV: now, how many, from where
local now, limit, from = tonumber(ARGV[1]), tonumber(ARGV[2]), ARGV[3]
local found, page = {}, math.max(limit, 100)

local function is_due(lane)
  for _, track in ipairs(tracks_of(lane)) do
    if advance(track, now) then return true end
  end
  return false
end

while #found < limit do
  local part = redis.call('ZRANGEBYLEX', KEYS[1] .. 'lanes', from, '+', 'LIMIT', 0, page)
  for _, lane in ipairs(part) do
    if #found < limit and is_due(lane) then found[#found + 1] = lane end
  end
  if #part < page then break end
  from = '(' .. part[#part]
end
return found
