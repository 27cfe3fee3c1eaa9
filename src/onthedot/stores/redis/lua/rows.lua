-- The time, and the rows of these ids. ARGV: the table, then the ids
local ids = {}
for i = 2, #ARGV do ids[i - 1] = ARGV[i] end
return {clock_ms(), rows(ARGV[1], ids)}
