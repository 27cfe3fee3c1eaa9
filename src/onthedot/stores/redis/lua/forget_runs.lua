-- Forgets ended runs with their logs, if they still stand in `finished` as they were found there.
-- It frees before it writes, so that it works on a server that is full.
-- ARGV: how many states; the states of ended runs; then of each run its member and score
-- Answers how many runs and how many lines of their logs.
local states = tonumber(ARGV[1])
local ids, members, groups, lines = {}, {}, {}, 0
for i = states + 2, #ARGV, 2 do
  local score = redis.call('ZSCORE', KEYS[1] .. 'finished', ARGV[i])
  if score and tonumber(score) == tonumber(ARGV[i + 1]) then
    local id, group = split(ARGV[i])
    ids[#ids + 1], members[#members + 1] = id, ARGV[i]
    groups[group] = groups[group] or {}
    table.insert(groups[group], id)
    local length = redis.call('LLEN', KEYS[1] .. 'log:' .. id)
    if length > 0 then
      lines = lines + length
      redis.call('UNLINK', KEYS[1] .. 'log:' .. id)
    end
  end
end
for_all('HDEL', 'runs', ids)
for_all('ZREM', 'finished', members)
for i = 2, states + 1 do for_all('ZREM', 'state:' .. ARGV[i], ids) end
for group, of_group in pairs(groups) do
  for_all('ZREM', 'ended:' .. group, of_group)
  local left = redis.call('ZCARD', KEYS[1] .. 'ended:' .. group)
  if left == 0 then
    redis.call('ZREM', KEYS[1] .. 'kept', group)
  else
    redis.call('ZADD', KEYS[1] .. 'kept', left, group)
  end
end
return {#ids, lines}
