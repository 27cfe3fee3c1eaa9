from django.db import transaction
from django.http import Http404, HttpRequest, JsonResponse
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_POST

from onthedot import RunNotFound
from onthedot.django import app
from shop.jobs import send_invoice
from shop.models import Order


@csrf_exempt
@require_POST
@transaction.atomic
def place_order(request: HttpRequest, number: int) -> JsonResponse:
    Order.objects.create(number=number)
    run = app.enqueue(send_invoice, args={"number": number})  # if the order is undone, so is its run
    return JsonResponse({"run": run.id}, status=202)


def show_run(request: HttpRequest, run_id: str) -> JsonResponse:
    try:
        run = app.runs.get(run_id)
    except RunNotFound as error:
        raise Http404(str(error)) from None
    return JsonResponse({"state": run.state, "result": run.result})
