-- What active schedules need, each once. ARGV: after which need (nothing: from the first)
-- Answers of each the need, how many schedules have it, and the names of the first three; at most 500 of them.
local found, from = {}, ARGV[1] == '' and '-' or '(' .. ARGV[1] .. '\n\255'
local key = KEYS[1] .. 'needs'
while #found < 500 do
  local first = redis.call('ZRANGEBYLEX', key, from, '+', 'LIMIT', 0, 3)
  if #first == 0 then break end
  local need, names = split(first[1]), {}
  local start = need .. '\n'
  for _, member in ipairs(first) do
    if string.sub(member, 1, #start) == start then names[#names + 1] = string.sub(member, #start + 1) end
  end
  from = '(' .. start .. '\255'
  found[#found + 1] = {need, redis.call('ZLEXCOUNT', key, '[' .. start, from), names}
end
return found
