"""Stubs for permissions and the admin's index. They have no tables: what they show is asked of the store."""

from __future__ import annotations

from django.db import models


class Schedule(models.Model):
    """Its pages are for whoever may view schedules; whoever may change them may steer."""

    name = models.CharField(max_length=200, primary_key=True)

    class Meta:
        managed = False
        app_label = "onthedot"
        default_permissions = ("view", "change")


class Run(models.Model):
    """The same for runs."""

    id = models.CharField(max_length=36, primary_key=True)

    class Meta:
        managed = False
        app_label = "onthedot"
        default_permissions = ("view", "change")
