-- All live runs of these schedules: ids, rows, and how many each schedule has.
-- ARGV: ids of schedules
local ids, runs, sizes = live(ARGV, 0)
return {ids, runs, sizes}
