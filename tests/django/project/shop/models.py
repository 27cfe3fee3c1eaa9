from django.db import models


class Order(models.Model):
    item = models.CharField(max_length=100)
    invoiced_at = models.DateTimeField(null=True)
