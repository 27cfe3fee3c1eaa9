"""The pages in the admin: what they show, and for whom."""

from django.contrib.auth.models import Permission, User
from django.test import TestCase
from django.urls import reverse

from onthedot.django import app

LIST, RUNS = "/admin/onthedot/schedule/", "/admin/onthedot/run/"


class Admin(TestCase):
    def setUp(self):
        app.sync()

    def enter(self, *permissions):
        user = User.objects.create_user("ada", is_staff=True)
        user.user_permissions.set(Permission.objects.filter(codename__in=permissions))
        self.client.force_login(user)

    def test_schedules_are_listed_steered_and_explained(self):
        self.enter("view_schedule", "change_schedule", "view_run")
        self.assertContains(self.client.get("/admin/"), LIST)
        self.assertContains(self.client.get(LIST), "find_forgotten")
        self.assertNotContains(self.client.get(LIST, {"q": "forgotten"}), "at night")
        chosen = {"act": "pause", "chosen": ["at night", "find_forgotten", "nobody"]}
        said = self.client.post(LIST, chosen, follow=True)
        self.assertContains(said, "Pause: done for 2.")
        self.assertContains(said, "nobody")
        self.assertFalse(app.schedules.get("at night").enabled)
        self.assertEqual(app.schedules.changes("at night").items[0].by.who, "ada")
        page = reverse("admin:onthedot_schedule_change", args=["at night"])
        self.client.post(page, {"act": "resume"})
        self.client.post(page, {"act": "trigger"})
        self.assertTrue(app.schedules.get("at night").enabled)
        shown = self.client.get(page, {"at": "2020-01-01 03:00"})
        self.assertContains(shown, "waiting")
        self.assertContains(shown, "at 03:00 every day")
        self.assertContains(shown, "2020")
        self.assertContains(self.client.get(page, {"at": "never"}), "is no moment")
        for edge in ("0001-01-01 00:00", "9999-12-31 23:59:59-12:00", "2026-02-30 00:00"):
            said = self.client.get(page, {"at": edge})
            self.assertRegex(said.content.decode(), "is no moment|is not between the years")
            self.assertContains(said, "at 03:00 every day")  # all else is there
        self.assertEqual(self.client.get(f"{LIST}nothing/").status_code, 404)

    def test_runs_are_listed_cancelled_and_retried(self):
        self.enter("view_run", "change_run")
        run = app.schedules.trigger("at night")
        self.assertContains(self.client.get(RUNS), run.id)
        page = reverse("admin:onthedot_run_change", args=[run.id])
        self.client.post(page, {"act": "cancel"})
        self.assertEqual(app.runs.get(run.id).state, "cancelled")
        self.assertContains(self.client.get(page), "Retry")
        self.client.post(RUNS, {"act": "retry", "chosen": [run.id]})
        self.assertEqual(app.runs.get(run.id).state, "waiting")
        self.assertEqual(self.client.get(f"{RUNS}nothing/").status_code, 404)

    def test_who_may_only_look_has_no_buttons_and_who_may_not_sees_nothing(self):
        self.enter("view_schedule")
        self.assertNotContains(self.client.get(LIST), "Pause")
        self.assertEqual(self.client.post(LIST, {"act": "pause", "chosen": ["at night"]}).status_code, 403)
        self.assertEqual(self.client.get(RUNS).status_code, 403)
        self.assertTrue(app.schedules.get("at night").enabled)
        self.client.logout()
        self.assertEqual(self.client.get(LIST).status_code, 302)
