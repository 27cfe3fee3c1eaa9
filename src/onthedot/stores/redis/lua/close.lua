-- Stands before the scripts that write runs. Tracks that hold no run any more leave their lane, and a lane without tracks
-- leaves the others.
local function close(lane, names)
  local tracks = KEYS[1] .. 'tracks:' .. lane
  for _, name in ipairs(names) do
    if redis.call('EXISTS', KEYS[1] .. 'track:' .. lane .. '\n' .. name) == 0 then redis.call('SREM', tracks, name) end
  end
  if redis.call('EXISTS', tracks) == 0 then redis.call('ZREM', KEYS[1] .. 'lanes', lane) end
end
