"""`app.aio`: the same names as those of `app`, awaited.

faces       what users call, each with the signature of what it stands for
awaited     how a method of `app` becomes one that is awaited
calls       the threads in which it is called
batches     the enqueues of one turn of a loop, written in one transaction
waits       one thread that looks whether any of the awaited runs has ended
lending     the connection of an AsyncSession, lent to the store
"""

from onthedot.app.aio.faces import AsyncApp

__all__ = ["AsyncApp"]
