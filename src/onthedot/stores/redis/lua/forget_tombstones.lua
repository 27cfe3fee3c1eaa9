-- Forgets tombstones of which nothing else is left, first the keys of their ticks, so many at once.
-- ARGV: how many keys; then of each tombstone its member and score in `deleted`
-- Answers how many tombstones, keys and definitions, and whether some of them have more keys.
local most, forgotten, keys, revisions, more = tonumber(ARGV[1]), 0, 0, 0, 0

local function is_bare(id, name)
  for _, key in ipairs({'live:' .. id, 'ended:' .. name, 'decisions:' .. id}) do
    if redis.call('EXISTS', KEYS[1] .. key) == 1 then return false end
  end
  return true
end

local function forget(id, name, member)
  local ticks = keys < most and redis.call('SPOP', KEYS[1] .. 'ticks:' .. id, most - keys) or {}
  for_all('HDEL', 'keys', ticks)
  keys = keys + #ticks
  if redis.call('EXISTS', KEYS[1] .. 'ticks:' .. id) == 1 then
    more = 1
    return
  end
  revisions = revisions + redis.call('LLEN', KEYS[1] .. 'revisions:' .. id)
  redis.call('UNLINK', KEYS[1] .. 'revisions:' .. id)
  redis.call('HDEL', KEYS[1] .. 'schedules', id)
  redis.call('HDEL', KEYS[1] .. 'labels', id)
  if redis.call('HGET', KEYS[1] .. 'names', name) == id then redis.call('HDEL', KEYS[1] .. 'names', name) end
  redis.call('ZREM', KEYS[1] .. 'succeeded', name)
  redis.call('ZREM', KEYS[1] .. 'deleted', member)
  forgotten = forgotten + 1
end

for i = 2, #ARGV, 2 do
  local score = redis.call('ZSCORE', KEYS[1] .. 'deleted', ARGV[i])
  local id, name = split(ARGV[i])
  if score and tonumber(score) == tonumber(ARGV[i + 1]) and is_bare(id, name) then forget(id, name, ARGV[i]) end
end
return {forgotten, keys, revisions, more}
