"""Tasks of Django 6: what they lack is a schedule."""

from django.tasks import task

from onthedot import cron
from onthedot.django import app
from shop.models import Order


@app.schedule(cron("0 3 * * *"))
@task
def nightly_report() -> int:
    return Order.objects.count()
