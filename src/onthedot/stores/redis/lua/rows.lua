-- The time, and rows of several tables. ARGV: for each table its name, how many ids, the ids, and of each the stamp that
-- the caller knows, or nothing
-- Answers of each row its text, or 1 if it still has that stamp.
local answer, at = {clock_ms()}, 1
while at <= #ARGV do
  local ids = words(at + 1)
  local found, stamps = rows(ARGV[at], ids), at + 1 + #ids
  for i, row in ipairs(found) do
    if row and string.sub(row, 1, 12) == ARGV[stamps + i] then found[i] = 1 end
  end
  answer[#answer + 1] = found
  at = stamps + #ids + 1
end
return answer
