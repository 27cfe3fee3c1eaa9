"""What the server does in one step each. KEYS[1] is what every key begins with; all moments are in milliseconds.

`document:ID` is a hash of body, due, owner, until and error, an empty text standing for nothing. `free` orders the ids
of all that have a moment by when they are due and nobody holds them any more. `taken:TOKEN` holds, for as long as the
lock, the ids that a call has taken: so a call that is repeated, by us or by the driver, takes nothing else.
"""

_LIBRARY = """
local prefix = KEYS[1]
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)

local function hash(id) return prefix .. 'document:' .. id end
local function whole(number) return string.format('%.0f', number) end

local function place(id)  -- anew, by what its hash says, whoever has written that
  local due, until_ = unpack(redis.call('HMGET', hash(id), 'due', 'until'))
  if tonumber(due or '') then
    redis.call('ZADD', prefix .. 'free', whole(math.max(tonumber(due), tonumber(until_ or '') or 0)), id)
  else
    redis.call('ZREM', prefix .. 'free', id)
  end
end

local function lock(id, token, lock_ms)
  redis.call('HSET', hash(id), 'owner', token, 'until', whole(now + lock_ms))
  place(id)
  return {id, unpack(redis.call('HMGET', hash(id), 'body', 'due', 'owner', 'until', 'error'))}
end

local function lock_again(token, lock_ms)
  local answer = {whole(now)}
  for _, id in ipairs(redis.call('LRANGE', prefix .. 'taken:' .. token, 0, -1)) do
    local owner, until_ = unpack(redis.call('HMGET', hash(id), 'owner', 'until'))
    if owner == token and until_ ~= '' then answer[#answer + 1] = lock(id, token, lock_ms) end
  end
  return answer
end

local function is_still_due(id, locked_at)
  local due = redis.call('HGET', hash(id), 'due')
  return due and due ~= '' and (not tonumber(due) or tonumber(due) <= tonumber(locked_at))
end

local function finish(id, locked_at, due, until_, err)
  if is_still_due(id, locked_at) then redis.call('HSET', hash(id), 'due', due) end
  redis.call('HSET', hash(id), 'until', until_, 'error', err)
  place(id)
end
"""

PUT = f"""{_LIBRARY}
local id, body, due, owner, until_, err = unpack(ARGV)
redis.call('HSET', hash(id), 'body', body, 'due', due, 'owner', owner, 'until', until_, 'error', err)
place(id)
"""

LOCK = f"""{_LIBRARY}
local token, lock_ms, limit = ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3])
local taken = prefix .. 'taken:' .. token
if redis.call('EXISTS', taken) == 1 then return lock_again(token, lock_ms) end
local skipped = {{}}
for n = 4, #ARGV do skipped[ARGV[n]] = true end
local answer = {{whole(now)}}
local found = redis.call('ZRANGEBYSCORE', prefix .. 'free', '-inf', whole(now), 'LIMIT', 0, limit + #ARGV - 3)
for _, id in ipairs(found) do
  if #answer > limit then break end
  if redis.call('EXISTS', hash(id)) == 0 then
    redis.call('ZREM', prefix .. 'free', id)
  elseif not skipped[id] then
    answer[#answer + 1] = lock(id, token, lock_ms)
    redis.call('RPUSH', taken, id)
  end
end
redis.call('PEXPIRE', taken, lock_ms)
return answer
"""

LOCK_AGAIN = f"""{_LIBRARY}
return lock_again(ARGV[1], tonumber(ARGV[2]))
"""

RENEW = f"""{_LIBRARY}
local lost = {{}}
for n = 2, #ARGV, 2 do
  local id, token = ARGV[n], ARGV[n + 1]
  local owner, until_ = unpack(redis.call('HMGET', hash(id), 'owner', 'until'))
  if owner == token and until_ ~= '' then
    redis.call('HSET', hash(id), 'until', whole(now + tonumber(ARGV[1])))
    place(id)
  elseif owner and owner ~= token then
    lost[#lost + 1] = id
  end
end
return lost
"""

UPDATE = f"""{_LIBRARY}
local lost = {{}}
for n = 1, #ARGV, 6 do
  local id, token, locked_at, due, until_, err = unpack(ARGV, n, n + 5)
  local owner = redis.call('HGET', hash(id), 'owner')
  if owner == token then
    finish(id, locked_at, due, until_, err)
  elseif owner then
    lost[#lost + 1] = id
  end
end
return lost
"""

REMOVE = f"""{_LIBRARY}
local lost = {{}}
for n = 1, #ARGV, 3 do
  local id, token, locked_at = unpack(ARGV, n, n + 2)
  local owner = redis.call('HGET', hash(id), 'owner')
  if owner == token and is_still_due(id, locked_at) then
    redis.call('DEL', hash(id))
    redis.call('ZREM', prefix .. 'free', id)
  elseif owner == token then
    finish(id, locked_at, '', '', '')
  elseif owner then
    lost[#lost + 1] = id
  end
end
return lost
"""
