-- Due schedules that nobody else works on just now, those on time before those overdue, with all that planning reads.
-- ARGV: now, on time from, how many, hold for, of how many live runs of each to tell;
-- then, with how many that is, what the caller holds already
-- Answers: whether some were left out; their ids, their rows; live runs' ids, rows, sizes; nodes.
local now, from, limit, hold_ms = ARGV[1], ARGV[2], tonumber(ARGV[3]), tonumber(ARGV[4])
local ids, left_out = {}, 0

local function look(low, high)
  local offset = 0
  while #ids < limit do
    local part = redis.call('ZRANGEBYSCORE', KEYS[1] .. 'due', low, high, 'LIMIT', offset, limit)
    for _, id in ipairs(part) do
      if is_busy(id) then
        left_out = 1
      elseif #ids < limit then
        ids[#ids + 1] = id
      end
    end
    if #part < limit then return end
    offset = offset + limit
  end
end

local _, own = words(6)
begin_holding(own)
look(from, now)
look('-inf', '(' .. from)
hold(ids, hold_ms)
local nodes = redis.call('ZRANGE', KEYS[1] .. 'living', 0, -1)
local run_ids, runs, sizes = live(ids, tonumber(ARGV[5]))
return {left_out, ids, rows('schedules', ids), run_ids, runs, sizes, {nodes, rows('nodes', nodes)}}
