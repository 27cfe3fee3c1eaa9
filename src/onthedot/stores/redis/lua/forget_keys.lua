-- Forgets keys that expire when they were found to expire. ARGV: of each its name and that moment
-- Answers how many.
local keys = {}
for i = 1, #ARGV, 2 do
  local score = redis.call('ZSCORE', KEYS[1] .. 'expiring', ARGV[i])
  if score and tonumber(score) == tonumber(ARGV[i + 1]) then keys[#keys + 1] = ARGV[i] end
end
for_all('HDEL', 'keys', keys)
for_all('ZREM', 'expiring', keys)
return #keys
