-- Forgets ended runs with their logs, if they still stand in `finished` as they were found there.
-- It frees before it writes, so that it works on a server that is full.
-- ARGV: how many states; the states of ended runs; then of each run its member and score
-- Answers how many runs, how many lines of their logs, and how many flows, whose steps are to follow them.
local states = tonumber(ARGV[1])
local ids, members, groups, indexes, lines, flows = {}, {}, {}, {}, 0, {}

local function note(index, member)
  indexes[index] = indexes[index] or {}
  table.insert(indexes[index], member)
end

-- The name of a schedule stands for its id as long as there is history of it.
local function note_all(id, group)
  local of = redis.call('ZRANGEBYLEX', KEYS[1] .. 'ended:' .. group, '[' .. id, '+', 'LIMIT', 0, 1)[1] or ''
  local found, rest = head(of)
  groups[group] = groups[group] or redis.call('HGET', KEYS[1] .. 'names', group) or 'none'
  note('marks:' .. groups[group], id)
  if found ~= id then return end
  local owner, others = head(rest)
  local task, behind = head(others)
  local parent, rest_of = head(behind)
  local step, graph = head(rest_of)
  note('ended:' .. group, of)
  note('task_runs:' .. task, id)
  if owner ~= '' then note('node_runs:' .. owner, id) end
  if parent ~= '' then note('parent:' .. parent, id) end
  if graph ~= '' then
    note('graph_runs:' .. graph, id)
    flows[#flows + 1] = id
  end
  if step ~= '' then
    note('items:' .. parent .. '\n' .. step, id)
    note('untold', parent .. '\n' .. id)
    redis.call('SREM', KEYS[1] .. 'steps:' .. parent, id)
  end
end

for i = states + 2, #ARGV, 2 do
  local score = redis.call('ZSCORE', KEYS[1] .. 'finished', ARGV[i])
  if score and tonumber(score) == tonumber(ARGV[i + 1]) then
    local id, group = split(ARGV[i])
    note_all(id, group)
    ids[#ids + 1], members[#members + 1] = id, ARGV[i]
    local log = KEYS[1] .. 'log:' .. id
    local length = redis.call('LLEN', log)
    if length > 0 then
      lines = lines + length
      redis.call('UNLINK', log)
    end
  end
end
for_all('HDEL', 'runs', ids)
for_all('ZREM', 'finished', members)
for_all('ZREM', 'late', ids)
for i = 2, states + 1 do for_all('ZREM', 'state:' .. ARGV[i], ids) end
for index, of_index in pairs(indexes) do for_all('ZREM', index, of_index) end
for_all('SADD', 'forgotten', flows)
for group in pairs(groups) do
  local left = redis.call('ZCARD', KEYS[1] .. 'ended:' .. group)
  if left == 0 or string.sub(group, 1, 2) == '//' then
    redis.call('ZREM', KEYS[1] .. 'kept', group)
  else
    redis.call('ZADD', KEYS[1] .. 'kept', left, group)
  end
end
return {#ids, lines, #flows}
