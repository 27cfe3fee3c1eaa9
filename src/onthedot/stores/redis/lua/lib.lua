-- Stands before every script that reads.

-- The rows of these ids, in their order; false where there is none. In parts: unpack takes some 8,000 values at most.
local function rows(table_name, ids)
  local found = {}
  for first = 1, #ids, 4000 do
    local last = math.min(first + 3999, #ids)
    local part = redis.call('HMGET', KEYS[1] .. table_name, unpack(ids, first, last))
    for i = 1, #part do found[#found + 1] = part[i] end
  end
  return found
end

-- The ids and the rows of all live runs of these schedules, and how many each schedule has.
local function live(schedule_ids)
  local ids, sizes = {}, {}
  for i, schedule_id in ipairs(schedule_ids) do
    local members = redis.call('SMEMBERS', KEYS[1] .. 'live:' .. schedule_id)
    sizes[i] = #members
    for _, id in ipairs(members) do ids[#ids + 1] = id end
  end
  return ids, rows('runs', ids), sizes
end

-- Who works on what, for a moment: only a hint, so that many do not all decide the same and throw it away.
-- By the server's own time, whatever time the caller goes by.
local function clock_ms()
  local time = redis.call('TIME')
  return time[1] * 1000 + math.floor(time[2] / 1000)
end

local anything_busy = true

local function is_busy(name)
  return anything_busy and redis.call('ZSCORE', KEYS[1] .. 'busy', name)
end

local function hold(names, hold_ms)
  local until_ms, values = clock_ms() + hold_ms, {}
  for i, name in ipairs(names) do
    values[#values + 1], values[#values + 2] = until_ms, name
    if #values == 4000 or i == #names then
      redis.call('ZADD', KEYS[1] .. 'busy', unpack(values))
      values = {}
    end
  end
end

local function forget_old_holds()
  redis.call('ZREMRANGEBYSCORE', KEYS[1] .. 'busy', '-inf', clock_ms())
  anything_busy = redis.call('EXISTS', KEYS[1] .. 'busy') == 1
end

-- One command for many values of a key, in parts.
local function for_all(command, name, values)
  for first = 1, #values, 4000 do
    redis.call(command, KEYS[1] .. name, unpack(values, first, math.min(first + 3999, #values)))
  end
end

-- What stands before and behind the first line break.
local function split(text)
  return string.match(text, '^([^\n]*)\n(.*)$')
end

-- When a decision was made; nothing if that cannot be read.
local function decided_ms(text)
  return string.match(text, '^%-?%d+') or ''
end
