-- The short way of plain runs (plain.py): each row that still is as its node has it gets told what happened to it, and
-- its run moves between indexes. What was changed by anybody meanwhile is left as it is. Nothing of it is decided here.
-- ARGV: now (nothing: the server's own time), the node, the new stamp; then groups. A group is: how many moves, how many
-- runs, how many texts; of each move command, key, member, score; the ids, their stamps, the texts: what is told of each,
-- or one for all.
-- A member is what stands behind the run's id. A score of -1 is now. What is told stands behind the time, as JSON does.
-- Answers: now; whether the node lives; the runs that were left as they are.
local time = redis.call('TIME')
local now = ARGV[1] == '' and time[1] .. string.format('%03d', math.floor(time[2] / 1000)) or ARGV[1]
local state = redis.call('HGET', KEYS[1] .. 'node_states', ARGV[2])
if state ~= 'alive' and state ~= 'draining' then return {now, 0, {}} end
local left = {}

-- The ids of those that are told. Rows come first: what is refused for want of memory is refused before any write.
local function tell(first, count, texts)
  local key, told, rows = KEYS[1] .. 'runs', {}, {}
  local held = redis.call('HMGET', key, unpack(ARGV, first, first + count - 1))
  for i = 1, count do
    local id, row = ARGV[first + i - 1], held[i]
    if row and string.sub(row, 1, 12) == ARGV[first + count + i - 1] then
      told[#told + 1] = id
      rows[#rows + 1] = id
      rows[#rows + 1] = ARGV[3] .. string.sub(row, 13) .. '[' .. now .. ARGV[first + 2 * count + math.min(i, texts) - 1]
    else
      left[#left + 1] = id
    end
  end
  if #told > 0 then redis.call('HSET', key, unpack(rows)) end
  return told
end

local function move(ids, command, name, member, score)
  if command == 'CLOSE' then return close(name, {member}) end
  if command == 'ZINCRBY' then return redis.call(command, KEYS[1] .. name, score * #ids, member) end
  if command == 'ZREMRANGEBYSCORE' then return redis.call(command, KEYS[1] .. name, member, score) end
  local values = {}
  if score == '-1' then score = now end
  for _, id in ipairs(ids) do
    if command == 'ZADD' then values[#values + 1] = score end
    values[#values + 1] = id .. member
  end
  redis.call(command, KEYS[1] .. name, unpack(values))
end

local at = 4
while at <= #ARGV do
  local moves, count, texts = tonumber(ARGV[at]), tonumber(ARGV[at + 1]), tonumber(ARGV[at + 2])
  local first = at + 3 + 4 * moves
  local told = tell(first, count, texts)
  if #told > 0 then
    for each = at + 3, first - 1, 4 do move(told, unpack(ARGV, each, each + 3)) end
  end
  at = first + 2 * count + texts
end
return {now, 1, left}
