"""A project as people have it; the tests say which database it is on."""

import json
import os

import django

SECRET_KEY = "only for tests, and as long as Django wants it to be: 0123456789"
DEBUG = False
ALLOWED_HOSTS = ["*"]
INSTALLED_APPS = [
    "django.contrib.admin",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "onthedot.django",
    "shop",
]
DATABASES = {
    "default": json.loads(
        os.environ.get("SITE_DATABASE", '{"ENGINE": "django.db.backends.sqlite3", "NAME": "site.db"}')
    ),
    "archive": {"ENGINE": "django.db.backends.sqlite3", "NAME": "archive.db"},
}
ONTHEDOT = json.loads(os.environ.get("SITE_ONTHEDOT", "{}"))
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"
USE_TZ = True
TIME_ZONE = "Europe/Berlin"
ROOT_URLCONF = "mysite.urls"
STATIC_URL = "static/"
MIDDLEWARE = [
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
]
TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
            ]
        },
    }
]
PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
if django.VERSION >= (6,):
    TASKS = {
        "default": {"BACKEND": "onthedot.django.tasks.OnthedotBackend", "QUEUES": ["default", "mail"]},
        "elsewhere": {"BACKEND": "django.tasks.backends.dummy.DummyBackend"},
        "at_once": {"BACKEND": "django.tasks.backends.immediate.ImmediateBackend"},
    }
