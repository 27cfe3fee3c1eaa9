-- A page of an index of schedules by next moment. ARGV: the index, from which moment on, how many of that moment were
-- looked at before, how many, part of the name or the task; then, each with how many they are, indexes in which they
-- stand, and indexes in which they do not
-- Answers how many it looked at, the moment of the last of them, how many of these were of that moment; and of those
-- that are wanted the moments, the labels and the ids.
local key, count, part = KEYS[1] .. ARGV[1], tonumber(ARGV[4]), ARGV[5]
local all, _, at = words(6)
local none = words(at)
local start = redis.call('ZCOUNT', key, '-inf', '(' .. ARGV[2]) + tonumber(ARGV[3])
local found = redis.call('ZRANGE', key, start, start + count - 1, 'WITHSCORES')
local ids, same, last = {}, 0, found[#found] or ''
for i = 1, #found, 2 do
  ids[#ids + 1] = found[i]
  if found[i + 1] == last then same = same + 1 end
end
local moments, labels, chosen = {}, {}, {}
for i, label in ipairs(rows('labels', ids)) do
  if label and has_part(label, part) and stands(label, all, none) then
    moments[#moments + 1], labels[#labels + 1], chosen[#chosen + 1] = found[2 * i], label, ids[i]
  end
end
return {#ids, last, same, moments, labels, chosen}
