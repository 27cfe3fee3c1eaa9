-- Those of these lanes in which any run stands. ARGV: lanes
local found = {}
for _, lane in ipairs(ARGV) do
  if redis.call('EXISTS', KEYS[1] .. 'tracks:' .. lane) == 1 then found[#found + 1] = lane end
end
return found
