-- Due blocked runs in turn, after the one with that moment and id. ARGV: now, how many, its moment, its id
local now, limit, moment, id = ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3]), ARGV[4]
local key = KEYS[1] .. 'blocked'
local ids = {}
local rank = redis.call('ZRANK', key, id)
if rank and tonumber(redis.call('ZSCORE', key, id)) ~= moment then rank = false end
local offset = rank and rank + 1 or redis.call('ZCOUNT', key, '-inf', '(' .. ARGV[3])
while #ids < limit do
  local part = redis.call('ZRANGE', key, offset, offset + limit - 1, 'WITHSCORES')
  for i = 1, #part, 2 do
    local due = tonumber(part[i + 1])
    if due > tonumber(now) or #ids == limit then return {ids, rows('runs', ids)} end
    if due > moment or part[i] > id then ids[#ids + 1] = part[i] end
  end
  if #part < 2 * limit then break end
  offset = offset + limit
end
return {ids, rows('runs', ids)}
