-- Due runs of a lane, the foremost in turn: ids and rows. ARGV: the lane, now, how many
local limit, ids = tonumber(ARGV[3]), {}
in_turn(tracks_of(ARGV[1]), tonumber(ARGV[2]), function(run_id)
  ids[#ids + 1] = run_id
  return #ids >= limit
end)
return {ids, rows('runs', ids)}
