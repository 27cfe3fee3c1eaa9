-- How many runs each node has running: its id, the number, and so on.
return redis.call('ZRANGE', KEYS[1] .. 'load', 0, -1, 'WITHSCORES')
