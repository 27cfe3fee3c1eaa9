-- A page of schedules by name. ARGV: after which name (nothing: from the first), how many, part of the name or the task;
-- then, each with how many they are, indexes in which they stand, and indexes in which they do not
-- Answers the last name that it looked at, or nothing if there are no more; ids; rows.
local limit, part = math.min(tonumber(ARGV[2]), AT_ONCE), ARGV[3]
local all, _, at = words(4)
local none = words(at)
local index, others = smallest(all)
local is_plain = part == '' and #others + #none == 0
local from, page = ARGV[1] == '' and '-' or '(' .. ARGV[1] .. '\0\255', is_plain and limit or AT_ONCE
local labels = redis.call('ZRANGEBYLEX', KEYS[1] .. index, from, '+', 'LIMIT', 0, page)
local names, last = {}, false
for _, label in ipairs(labels) do
  last = label
  if has_part(label, part) and stands(label, others, none) then
    local name = head(label)
    if name ~= names[#names] then names[#names + 1] = name end
    if #names == limit then break end
  end
end
local ids = {}
for _, id in ipairs(rows('names', names)) do
  if id then ids[#ids + 1] = id end
end
return {(#names == limit or #labels == page) and head(last), ids, rows('schedules', ids)}
