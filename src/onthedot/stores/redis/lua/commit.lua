-- Compares all that a transaction relies upon; then, only if nothing has changed, writes all that it has decided.
-- KEYS[1]: what every key begins with
-- ARGV: how many groups of comparisons; these groups; then groups of writes. A group is: what, key, how many, values;
-- to be compared are first all fields, then all their values.
-- Answers 1, or the name of what has changed.
local at = 2
for _ = 1, tonumber(ARGV[1]) do
  local what, name, count = ARGV[at], ARGV[at + 1], tonumber(ARGV[at + 2])
  local key, first = KEYS[1] .. name, at + 3
  if what == 'size' then
    if redis.call('SCARD', key) ~= tonumber(ARGV[first]) then return name end
  else
    local half = count / 2
    local held = redis.call('HMGET', key, unpack(ARGV, first, first + half - 1))
    for i = 1, half do
      local value = held[i] or ''
      if what == 'row' then value = string.sub(value, 1, 12) end
      if value ~= ARGV[first + half + i - 1] then return name .. ' ' .. ARGV[first + i - 1] end
    end
  end
  at = first + count
end

while at <= #ARGV do
  local what, name, first = ARGV[at], ARGV[at + 1], at + 3
  local last = at + 2 + tonumber(ARGV[at + 2])
  if what == 'CLOSE' then
    close(name, {unpack(ARGV, first, last)})
  else
    redis.call(what, KEYS[1] .. name, unpack(ARGV, first, last))
  end
  at = last + 1
end
return 1
