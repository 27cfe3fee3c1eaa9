-- The first ended runs up to a moment: members of `finished`, each with its score. Steps are passed over: they go with
-- their flow, and few are left that are older than it. ARGV: the moment, how many
local most, found, from = tonumber(ARGV[2]), {}, 0
while #found < 2 * most do
  local page = redis.call('ZRANGEBYSCORE', KEYS[1] .. 'finished', '-inf', ARGV[1], 'WITHSCORES', 'LIMIT', from, most)
  for i = 1, #page, 2 do
    if not string.find(page[i], '\n//', 1, true) and #found < 2 * most then
      found[#found + 1], found[#found + 2] = page[i], page[i + 1]
    end
  end
  if #page < 2 * most or from > AT_ONCE then break end
  from = from + most
end
return found
