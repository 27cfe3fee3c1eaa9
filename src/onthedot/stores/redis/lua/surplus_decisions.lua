-- Decisions beyond the newest so many of their schedule. ARGV: from which schedule on, of how many, how many are kept
-- Answers how many schedules it looked at; then of each decision its schedule and when it was made.
local start, count, keep = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3])
local ids = redis.call('ZRANGE', KEYS[1] .. 'decided', start, start + count - 1)
local found = {#ids}
for _, id in ipairs(ids) do
  local surplus = redis.call('LLEN', KEYS[1] .. 'decisions:' .. id) - keep
  if surplus > keep / 10 then
    for _, text in ipairs(redis.call('LRANGE', KEYS[1] .. 'decisions:' .. id, 0, surplus - 1)) do
      found[#found + 1], found[#found + 2] = id, decided_ms(text)
    end
  end
end
return found
