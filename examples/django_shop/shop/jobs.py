"""Found by itself in each installed app."""

from django.utils import timezone

from onthedot import cron
from onthedot.django import app
from shop.models import Order


@app.task(retries=3)
def send_invoice(number: int) -> str:
    Order.objects.filter(number=number, invoiced_at=None).update(invoiced_at=timezone.now())
    return f"invoice of order {number}"


@app.schedule(cron("0 6 * * mon-fri"), misfire="fire_once")
def remind() -> int:
    return Order.objects.filter(invoiced_at=None).count()
