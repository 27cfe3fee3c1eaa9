-- What was counted in an hour, of each place; false where nothing was. ARGV: the beginning of the hour, then the places
local found = {}
for i = 2, #ARGV do found[#found + 1] = redis.call('HGET', KEYS[1] .. 'hours:' .. ARGV[i], ARGV[1]) end
return found
