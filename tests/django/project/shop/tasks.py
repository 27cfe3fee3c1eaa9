"""Tasks of Django's own: only where Django has them."""

from django.tasks import task

from onthedot import cron
from onthedot.django import app
from shop.models import Order


class OutOfStock(Exception):
    pass


@task
def add(a, b=1, *, c=0):
    return a + b + c


@task(priority=5, queue_name="mail")
def mail():
    return "sent"


@task
async def count():
    return await Order.objects.acount()


@task(takes_context=True)
def tells(context, word):
    return [word, context.attempt, context.task_result.id, str(context.task_result.status)]


@task
def fails():
    raise OutOfStock("of books,\nand of Traceback (most recent call last):")


@app.schedule(cron("30 2 * * *"), args={"a": 40, "b": 2})
@task
def nightly(a, b):
    return a + b


@task
@app.schedule(cron("30 3 * * *"), args={"word": "below"})
def nightly_below(word):
    return word


@app.schedule(cron("30 4 * * *"), args={"n": 7})
@task(backend="elsewhere")
def nightly_elsewhere(n):
    return n


@task(backend="elsewhere")
@app.schedule(cron("30 5 * * *"), args={"n": 8})
def nightly_elsewhere_below(n):
    return n
