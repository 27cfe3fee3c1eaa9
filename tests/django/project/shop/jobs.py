from django.db import connection
from django.utils import timezone

from onthedot import cron, every
from onthedot.django import app
from shop.models import Order


@app.task
def send_invoice(order: int) -> int:
    return Order.objects.filter(pk=order, invoiced_at=None).update(invoiced_at=timezone.now())


@app.task
async def count_orders() -> int:
    return await Order.objects.acount()


@app.task
def orders_on_a_dead_connection() -> int:
    """As if the server had cut it off; what comes next in this thread needs another one."""
    found = Order.objects.count()
    connection.connection.close()
    return found


@app.task
def order_and_enqueue(fails: bool) -> None:
    """A task with a transaction of its own."""
    from django.db import transaction

    with transaction.atomic():
        order = Order.objects.create(item="from a task")
        app.enqueue(send_invoice, args={"order": order.pk}, key="from a task")
        if fails:
            raise ValueError("no")


@app.schedule(every("1h"), tags=["orders"])
def find_forgotten() -> int:
    return Order.objects.filter(invoiced_at=None).count()


@app.schedule(cron("0 3 * * *"), name="at night")
def at_night() -> None: ...


@app.task(pool="process")
def count_in_a_process() -> int:
    """In an interpreter of its own, which knows nothing of Django at first."""
    return Order.objects.count()
