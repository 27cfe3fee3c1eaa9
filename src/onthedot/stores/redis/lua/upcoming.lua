-- The moments at which something is due, each once. ARGV: after, until
-- Answers those in (after, until], and the earliest of those at or before `after`, of every index: unsorted, with repeats.
local after, until_ms = ARGV[1], ARGV[2]
local moments = {}

-- From one moment to the next: ten thousand members at one moment cost one step.
local function look(key)
  local first = redis.call('ZRANGEBYSCORE', key, '-inf', after, 'WITHSCORES', 'LIMIT', 0, 1)[2]
  if first then moments[#moments + 1] = first end
  local last = after
  while true do
    last = redis.call('ZRANGEBYSCORE', key, '(' .. last, until_ms, 'WITHSCORES', 'LIMIT', 0, 1)[2]
    if not last then return end
    moments[#moments + 1] = last
  end
end

look(KEYS[1] .. 'due')
for _, lane in ipairs(redis.call('ZRANGEBYLEX', KEYS[1] .. 'lanes', '-', '(' .. AWAITED)) do
  for _, track in ipairs(tracks_of(lane)) do look(track.key) end
end
return moments
