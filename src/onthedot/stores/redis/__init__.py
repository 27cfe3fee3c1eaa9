"""The store on Redis: rows are read freely, and written by one script that compares what was read.

connect     a URL, what its options mean, and what is refused at start-up
server      one command or script at a time
errors      the server's errors in our words
mapping     values as text and text as values
indexes     in which sorted sets and indexes a row stands
tables      what a transaction knows of one hash of rows
sharing     what rows share: names, slots, counts, lanes
commit      what a transaction has read and shall write, as one script call
transaction the transaction itself: the `Transaction` of the engine
queries     the lists that people ask for
prune       forgetting what is old
notify      hints from other processes
store       all of it as a `Store`
lua/        the scripts
"""
