-- Forgets definitions that were replaced: of each schedule as many of the oldest as are named. ARGV: members of `replaced`
-- Answers how many.
local forgotten = 0
for _, member in ipairs(ARGV) do
  if redis.call('ZREM', KEYS[1] .. 'replaced', member) == 1 then
    local schedule_id = split(member)
    if redis.call('LPOP', KEYS[1] .. 'revisions:' .. schedule_id) then forgotten = forgotten + 1 end
  end
end
return forgotten
