-- Stands before every script that reads; and before it its constants (server.py).

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

-- What is live of these schedules: the ids and rows of all, and how many are of each. Of each at most so many (0: all),
-- first those that run, then those that wait, oldest first.
local function live(schedule_ids, most)
  local ids, sizes = {}, {}
  for i, schedule_id in ipairs(schedule_ids) do
    local members = redis.call('ZRANGE', KEYS[1] .. 'live:' .. schedule_id, 0, most - 1)
    sizes[i] = #members
    for _, id in ipairs(members) do ids[#ids + 1] = id end
  end
  return ids, rows('runs', ids), sizes
end

-- The arguments from there on, of which the first says how many they are: in order, and as a set. Where the next begin.
local function words(at)
  local list, set = {}, {}
  local last = at + tonumber(ARGV[at])
  for i = at + 1, last do
    list[#list + 1] = ARGV[i]
    set[ARGV[i]] = true
  end
  return list, set, last + 1
end

-- The tracks of a lane: sorted sets by moment, each of one priority. `wanted` gets what follows that in a track's name.
local function tracks_of(lane, wanted)
  local tracks = {}
  for _, name in ipairs(redis.call('SMEMBERS', KEYS[1] .. 'tracks:' .. lane)) do
    local priority, rest = string.match(name, '^(-?%d+)\n?(.*)$')
    if not wanted or wanted(rest) then
      tracks[#tracks + 1] = {key = KEYS[1] .. 'track:' .. lane .. '\n' .. name, priority = tonumber(priority)}
    end
  end
  return tracks
end

-- Moves to the next due run of a track, read page by page; false if there is none.
local function advance(track, now)
  track.at = (track.at or -1) + 2
  if not track.items or track.at > #track.items then
    local from, page = track.read or 0, math.min(track.read or 16, 1000)
    track.items = redis.call('ZRANGE', track.key, from, from + page - 1, 'WITHSCORES')
    track.read, track.at = from + page, 1
  end
  track.member = track.items[track.at]
  local due = tonumber(track.items[track.at + 1])
  if not track.member or due > now then return false end
  track.precedence = due - track.priority * LEVEL_MS
  return true
end

local function is_before(a, b)
  if a.precedence ~= b.precedence then return a.precedence < b.precedence end
  return a.member < b.member
end

-- Puts the first of a heap where it belongs.
local function sift(heap)
  local at = 1
  while true do
    local least = at
    for child = 2 * at, 2 * at + 1 do
      if heap[child] and is_before(heap[child], heap[least]) then least = child end
    end
    if least == at then return end
    heap[at], heap[least] = heap[least], heap[at]
    at = least
  end
end

-- Hands the due runs of all these tracks to `take`, in turn, until it answers true.
local function in_turn(tracks, now, take)
  local heap = {}
  for _, track in ipairs(tracks) do
    if advance(track, now) then heap[#heap + 1] = track end
  end
  table.sort(heap, is_before)
  while #heap > 0 do
    local track = heap[1]
    if take(string.match(track.member, '^([^\n]*)\n(.*)$')) then return end
    if not advance(track, now) then
      heap[1] = heap[#heap]
      heap[#heap] = nil
    end
    sift(heap)
  end
end

-- Who works on what, for a moment: only a hint, so that many do not all decide the same and throw it away.
-- By the server's own time, whatever time the caller goes by.
local function clock_ms()
  local time = redis.call('TIME')
  return time[1] * 1000 + math.floor(time[2] / 1000)
end

local anything_busy, mine = true, {}

local function is_busy(name)
  return anything_busy and not mine[name] and redis.call('ZSCORE', KEYS[1] .. 'busy', name)
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

-- Before anything is asked for: what was held too long is held no more, and what the caller holds is not busy for it.
local function begin_holding(own)
  redis.call('ZREMRANGEBYSCORE', KEYS[1] .. 'busy', '-inf', clock_ms())
  anything_busy = redis.call('EXISTS', KEYS[1] .. 'busy') == 1
  mine = own
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

-- What stands before the first zero of a text, and behind it.
local function head(text)
  local zero = string.find(text, '\0', 1, true)
  if not zero then return text, '' end
  return string.sub(text, 1, zero - 1), string.sub(text, zero + 1)
end

-- The sorted set of these that has the fewest members; all others.
local function smallest(names)
  local least, best, others = nil, nil, {}
  for _, name in ipairs(names) do
    local size = redis.call('ZCARD', KEYS[1] .. name)
    if not least or size < least then least, best = size, name end
  end
  for _, name in ipairs(names) do
    if name ~= best then others[#others + 1] = name end
  end
  return best, others, least
end

-- Whether a member stands in all of the first sorted sets and in none of the others.
local function stands(member, all, none)
  for _, name in ipairs(all) do
    if not redis.call('ZSCORE', KEYS[1] .. name, member) then return false end
  end
  for _, name in ipairs(none) do
    if redis.call('ZSCORE', KEYS[1] .. name, member) then return false end
  end
  return true
end

-- Whether a label has that part, which comes in small letters; every label has nothing.
local function has_part(label, part)
  return part == '' or string.find(string.lower(label), part, 1, true)
end
