-- Ended steps of flows that are forgotten: members of `finished`, each with its score. ARGV: how many
-- A flow of which no steps are left is forgotten for good.
local most, found = tonumber(ARGV[1]), {}
for _, flow in ipairs(redis.call('SMEMBERS', KEYS[1] .. 'forgotten')) do
  local ended = KEYS[1] .. 'ended://' .. flow
  if redis.call('EXISTS', ended, KEYS[1] .. 'steps:' .. flow) == 0 then
    redis.call('SREM', KEYS[1] .. 'forgotten', flow)
  end
  for _, of in ipairs(redis.call('ZRANGE', ended, 0, most - #found / 2 - 1)) do
    local member = head(of) .. '\n//' .. flow
    found[#found + 1], found[#found + 2] = member, redis.call('ZSCORE', KEYS[1] .. 'finished', member) or '0'
  end
  if #found >= 2 * most then break end
end
return found
