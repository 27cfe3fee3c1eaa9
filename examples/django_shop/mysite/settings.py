"""What any project has, and three things of onthedot: its app, where its store is, and a backend of tasks."""

from pathlib import Path

import django

SECRET_KEY = "an example has no secrets"
DEBUG = True
ROOT_URLCONF = "mysite.urls"
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"
STATIC_URL = "static/"
TIME_ZONE = "Europe/Berlin"
USE_TZ = True

INSTALLED_APPS = [
    "django.contrib.admin",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.messages",
    "django.contrib.sessions",
    "django.contrib.staticfiles",
    "onthedot.django",
    "shop",
]
ONTHEDOT = {"STORE": "default"}  # the database below: what is enqueued is a part of its transactions
if django.VERSION >= (6,):
    TASKS = {"default": {"BACKEND": "onthedot.django.tasks.OnthedotBackend", "OPTIONS": {"retries": 3}}}

DATABASES = {
    "default": {
        "ENGINE": "django.db.backends.sqlite3",
        "NAME": Path(__file__).parents[1] / "shop.db",
        "OPTIONS": {"transaction_mode": "IMMEDIATE", "timeout": 30},
    }
}
MIDDLEWARE = [
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.common.CommonMiddleware",
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
