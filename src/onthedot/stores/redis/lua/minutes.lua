-- What nodes counted, by minute and node: members and texts. ARGV: from which moment on, until which, from which one on
local key = KEYS[1] .. 'minutes'
local members = redis.call('ZRANGEBYSCORE', key, ARGV[1], ARGV[2], 'LIMIT', ARGV[3], AT_ONCE)
return {members, rows('minute', members)}
