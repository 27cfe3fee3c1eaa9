-- The flows that have ended steps which they were not told of, in order. ARGV: how many, after which
local most, after, found = tonumber(ARGV[1]), ARGV[2], {}
while #found < most do
  -- Behind all steps of that flow: no id has anything after a line break but another id.
  local from = after == '' and '-' or '(' .. after .. '\n\255'
  local member = redis.call('ZRANGEBYLEX', KEYS[1] .. 'untold', from, '+', 'LIMIT', 0, 1)[1]
  if not member then break end
  after = split(member)
  found[#found + 1] = after
end
return found
