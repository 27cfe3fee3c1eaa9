-- Due runs that nobody else works on just now, in turn, with all that starting them reads.
-- ARGV: now, how many, hold for, whether to take those too that others work on, how much a level of priority is worth,
-- then the queues
-- Answers: the ids and rows of the runs; of their schedules; live runs' ids, rows, sizes.
local now, limit, hold_ms, all = ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3]), ARGV[4] == '1'
local level_ms = tonumber(ARGV[5])
local page = math.max(16, math.min(limit, 1000))
local heads = {}

-- A queue is read page by page; the head of least precedence of all queues is the next in turn.
local function turn(queue)
  queue.at = queue.at + 2
  if queue.at > #queue.items then
    queue.items = redis.call('ZRANGEBYSCORE', queue.key, '-inf', now, 'WITHSCORES', 'LIMIT', queue.offset, page)
    queue.offset = queue.offset + page
    queue.at = 1
  end
  queue.member = queue.items[queue.at]
  if queue.member then queue.precedence = tonumber(queue.items[queue.at + 1]) - queue.priority * level_ms end
  return queue.member
end

local function look(name, priority)
  local queue = {key = KEYS[1] .. 'ready:' .. name, priority = priority, offset = 0, items = {}, at = -1}
  if turn(queue) then heads[#heads + 1] = queue end
end

local asked = {}
for i = 6, #ARGV do
  look(ARGV[i], 0)
  asked[ARGV[i]] = true
end
for _, name in ipairs(redis.call('SMEMBERS', KEYS[1] .. 'levels')) do
  local priority, queue = string.match(name, '^(-?%d+)\n(.*)$')
  if asked[queue] then look(name, tonumber(priority)) end
end

forget_old_holds()
local ids, schedule_ids, names, taken = {}, {}, {}, {}
while #ids < limit and #heads > 0 do
  local first = 1
  for i = 2, #heads do
    local a, b = heads[i], heads[first]
    if a.precedence < b.precedence or (a.precedence == b.precedence and a.member < b.member) then first = i end
  end
  local queue = heads[first]
  local run_id, schedule_id = string.match(queue.member, '^([^\n]*)\n(.*)$')
  local name = schedule_id == '' and run_id or schedule_id
  if all or taken[name] or not is_busy(name) then
    ids[#ids + 1] = run_id
    if not taken[name] then
      taken[name] = true
      names[#names + 1] = name
      if schedule_id ~= '' then schedule_ids[#schedule_ids + 1] = schedule_id end
    end
  end
  if not turn(queue) then table.remove(heads, first) end
end
hold(names, hold_ms)
local live_ids, runs, sizes = live(schedule_ids)
return {ids, rows('runs', ids), schedule_ids, rows('schedules', schedule_ids), live_ids, runs, sizes}
