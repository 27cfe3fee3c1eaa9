-- Ended runs beyond the newest so many of their schedule or task, oldest first.
-- ARGV: how many are kept, how many at most, and by when they must have ended
-- Answers the member and score of each in `finished`.
local keep, most, last = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3])
local found, count, offset = {}, 0, 0

local function look(group)
  local surplus = math.min(redis.call('ZCARD', KEYS[1] .. 'ended:' .. group) - keep, most - count)
  if surplus <= 0 then return end
  for _, of in ipairs(redis.call('ZRANGE', KEYS[1] .. 'ended:' .. group, 0, surplus - 1)) do
    local member = head(of) .. '\n' .. group
    local score = redis.call('ZSCORE', KEYS[1] .. 'finished', member) or '0'
    if tonumber(score) <= last then
      found[#found + 1], found[#found + 2] = member, score
      count = count + 1
    end
  end
end

while count < most do
  local groups = redis.call('ZRANGEBYSCORE', KEYS[1] .. 'kept', '(' .. keep, '+inf', 'LIMIT', offset, 100)
  for _, group in ipairs(groups) do look(group) end
  if #groups < 100 then break end
  offset = offset + 100
end
return found
