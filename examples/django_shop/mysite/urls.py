from django.contrib import admin
from django.urls import path
from shop.views import place_order, show_run

urlpatterns = [
    path("admin/", admin.site.urls),
    path("orders/<int:number>", place_order),
    path("runs/<str:run_id>", show_run),
]
