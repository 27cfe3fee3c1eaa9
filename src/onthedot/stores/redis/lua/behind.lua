-- Those of these schedules behind whose slots a run waits. ARGV: ids of schedules
local found = {}
for _, id in ipairs(ARGV) do
  if redis.call('EXISTS', KEYS[1] .. 'behind:' .. id) == 1 then found[#found + 1] = id end
end
return found
