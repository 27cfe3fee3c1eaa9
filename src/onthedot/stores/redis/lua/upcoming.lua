-- What comes by a moment: of schedules and of every queue, the first so many, each with its moment.
-- ARGV: until, how many
-- Answers: schedules, then runs; both as members and scores in turn.
local until_ms, limit = ARGV[1], ARGV[2]
local schedules = redis.call('ZRANGEBYSCORE', KEYS[1] .. 'due', '-inf', until_ms, 'WITHSCORES', 'LIMIT', 0, limit)
local runs = {}
for _, queue in ipairs(redis.call('SMEMBERS', KEYS[1] .. 'queues')) do
  local key = KEYS[1] .. 'ready:' .. queue
  local part = redis.call('ZRANGEBYSCORE', key, '-inf', until_ms, 'WITHSCORES', 'LIMIT', 0, limit)
  for _, value in ipairs(part) do runs[#runs + 1] = value end
  if #part == 0 and redis.call('EXISTS', key) == 0 then redis.call('SREM', KEYS[1] .. 'queues', queue) end
end
return {schedules, runs}
