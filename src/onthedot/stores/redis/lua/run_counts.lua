-- How many runs wait, and how many run; and how many of each are steps. At one moment: one is taken from the other.
local function steps(score) return redis.call('ZCOUNT', KEYS[1] .. 'live_steps', score, score) end
return {
  redis.call('ZCARD', KEYS[1] .. 'state:waiting'), redis.call('ZCARD', KEYS[1] .. 'state:running'), steps(0), steps(1),
}
