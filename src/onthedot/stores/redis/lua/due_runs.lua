-- Due runs that nobody else works on just now, in turn, with all that starting them reads.
-- ARGV: now (nothing: the server's own time), the node's id, how many, hold for, of how many live runs beside them to tell,
-- whether any pool will do; then, each with how many they are: what the caller holds already, the lanes, the tasks, the pools, all known tasks
-- Answers: now; whether others live, for whom runs without a schedule are held too; the row of the node; the ids and rows of the runs; of their schedules; live runs' ids, rows, sizes.
local now = ARGV[1] == '' and clock_ms() or tonumber(ARGV[1])
local limit, hold_ms, any_pool = tonumber(ARGV[3]), tonumber(ARGV[4]), ARGV[6] == '1'
local own, lanes, tasks, pools, known, at, _
_, own, at = words(7)
lanes, _, at = words(at)
_, tasks, at = words(at)
_, pools, at = words(at)
_, known = words(at)

local function is_wanted(name)
  local pool, task = string.match(name, '^([^\n]*)\n(.*)$')
  if any_pool or pool == 'null' then return tasks[task] end
  return pools[pool] and known[task]
end

local tracks = {}
for _, lane in ipairs(lanes) do
  for _, track in ipairs(tracks_of(lane, is_wanted)) do tracks[#tracks + 1] = track end
end

begin_holding(own)
local shared = redis.call('ZCARD', KEYS[1] .. 'living') > 1
local ids, schedule_ids, names, taken = {}, {}, {}, {}
in_turn(tracks, now, function(run_id, schedule_id)
  local name = schedule_id == '' and run_id or schedule_id
  if taken[name] or not is_busy(name) then
    ids[#ids + 1] = run_id
    if not taken[name] then
      taken[name] = true
      if schedule_id ~= '' or shared then names[#names + 1] = name end
      if schedule_id ~= '' then schedule_ids[#schedule_ids + 1] = schedule_id end
    end
  end
  return #ids >= limit
end)
hold(names, hold_ms)
local node = redis.call('HGET', KEYS[1] .. 'nodes', ARGV[2])
local live_ids, runs, sizes = live(schedule_ids, tonumber(ARGV[5]))
return {now, shared and 1 or 0, node, ids, rows('runs', ids), schedule_ids, rows('schedules', schedule_ids), live_ids, runs, sizes}
