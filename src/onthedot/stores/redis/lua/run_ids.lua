-- The newest runs, by id. ARGV: the first id that counts, the first that does not (nothing: all count), how many, a
-- schedule's name or nothing, a node or nothing; then, each with how many they are: states of live runs, indexes in
-- which these stand, states of ended runs, indexes in which those stand
-- Answers down to which ids it has looked, of each index that has more; and the ids, unsorted, some perhaps twice, or of
-- other states.
local least, below, limit = '[' .. ARGV[1], ARGV[2] == '' and '+' or '(' .. ARGV[2], tonumber(ARGV[3])
local name, node = ARGV[4], ARGV[5]
local live_states, _, at = words(6)
local live_indexes, _, ended_at = words(at)
local ended_states, _, indexes_at = words(ended_at)
local ended_indexes = words(indexes_at)
local is_any = #live_states > 0 and #ended_states > 0
local ids, sources, floors = {}, {}, {}

local function add_states(states, all)
  for _, state in ipairs(states) do sources[#sources + 1] = {index = 'state:' .. state, all = all} end
end

local function take(members)
  for _, id in ipairs(members) do ids[#ids + 1] = id end
end

-- Few, in no order, or else by state: a crowd of one schedule.
local function add_live()
  if node ~= '' then return take(redis.call('SMEMBERS', KEYS[1] .. 'owned:' .. node)) end
  if name == '' then return add_states(live_states, live_indexes) end
  local live = 'live:' .. (redis.call('HGET', KEYS[1] .. 'names', name) or '')
  if redis.call('ZCARD', KEYS[1] .. live) <= AT_ONCE then return take(redis.call('ZRANGE', KEYS[1] .. live, 0, -1)) end
  add_states(live_states, {live, unpack(live_indexes)})
end

-- From the narrowest index; that of a schedule tells more than the id, so nothing can be looked up in it.
local function add_ended()
  local index, others, size = smallest(ended_indexes)
  local of_schedule = 'ended:' .. name
  if name ~= '' and (not size or redis.call('ZCARD', KEYS[1] .. of_schedule) <= size) then
    index, others, size = of_schedule, ended_indexes, redis.call('ZCARD', KEYS[1] .. of_schedule)
  end
  if not is_any or not size then
    local of_states = 0
    for _, state in ipairs(ended_states) do of_states = of_states + redis.call('ZCARD', KEYS[1] .. 'state:' .. state) end
    if not size or of_states < size then return add_states(ended_states, ended_indexes) end
  end
  sources[#sources + 1] = {index = index, all = others, states = not is_any and ended_states or nil}
end

local function is_wanted(id, source)
  if not stands(id, source.all, {}) then return false end
  for _, state in ipairs(source.states or {}) do
    if redis.call('ZSCORE', KEYS[1] .. 'state:' .. state, id) then return true end
  end
  return not source.states
end

local function look(source)
  local is_plain = #source.all == 0 and not source.states
  local page = is_plain and math.min(limit, AT_ONCE) or math.floor(AT_ONCE / #sources)
  local members = redis.call('ZREVRANGEBYLEX', KEYS[1] .. source.index, below, least, 'LIMIT', 0, page)
  local taken, last = 0, nil
  for _, member in ipairs(members) do
    last = head(member)
    if is_wanted(last, source) then
      ids[#ids + 1] = last
      taken = taken + 1
      if taken == limit then break end
    end
  end
  if taken == limit or #members == page then floors[#floors + 1] = last end
end

if #live_states > 0 then add_live() end
if #ended_states > 0 then add_ended() end
for _, source in ipairs(sources) do look(source) end
return {floors, ids}
