-- What ended, by when: members of `finished`, their scores, and their rows.
-- ARGV: after which moment, until which, from which one on, how many at most
local found = redis.call('ZRANGEBYSCORE', KEYS[1] .. 'finished', '(' .. ARGV[1], ARGV[2], 'WITHSCORES', 'LIMIT', ARGV[3],
  ARGV[4])
local ids, members, scores = {}, {}, {}
for i = 1, #found, 2 do
  members[#members + 1], scores[#scores + 1] = found[i], found[i + 1]
  ids[#ids + 1] = split(found[i])
end
return {members, scores, rows('runs', ids)}
