"""The store on Redis: rows are read freely, and written by one script that compares what was read.

opening     a URL, what its options mean, and what is refused at start-up
server      one command or script at a time, with the server's errors in our words
mapping     values as text and text as values
places      in which sorted sets and indexes a row stands
commit      what a transaction has read and shall write, as one script call
rows        the transaction itself: the `Rows` of the engine
reading     the lists that people ask for
pruning     forgetting what is old
listening   hints from other processes
store       all of it as a `Store`
lua/        the scripts
"""
