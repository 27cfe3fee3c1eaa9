-- What freezes say of schedules, each text once, and how many schedules have it.
local found, key, from = {}, KEYS[1] .. 'windows', '-'
while true do
  local first = redis.call('ZRANGEBYLEX', key, from, '+', 'LIMIT', 0, 1)
  if #first == 0 then return found end
  local text = split(first[1])
  from = '(' .. text .. '\n\255'
  found[#found + 1] = {text, redis.call('ZLEXCOUNT', key, '[' .. text .. '\n', from)}
end
