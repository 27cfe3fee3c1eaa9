"""The pages of the documentation, and the code that stands in them."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]

DJANGO = {
    "manage.py": """\
import os, sys
from django.core.management import execute_from_command_line

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "mysite.settings")
execute_from_command_line(sys.argv)
""",
    "mysite/settings.py": """\
SECRET_KEY = "for a test"
INSTALLED_APPS = ["onthedot.django", "shop", "django.contrib.auth", "django.contrib.contenttypes"]
DATABASES = {
    "default": {
        "ENGINE": "django.db.backends.sqlite3",
        "NAME": "shop.db",
        "OPTIONS": {"transaction_mode": "IMMEDIATE", "timeout": 30},
    }
}
ROOT_URLCONF = "mysite.urls"
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"
USE_TZ = True
""",
    "mysite/urls.py": "urlpatterns = []\n",
    "mysite/__init__.py": "",
    "shop/__init__.py": "",
}
"""What every Django project has, and so no page shows."""
PROJECTS = {"django.md": DJANGO}


def blocks_of(page: Path, kind: str = "python") -> list[str]:
    """The fenced blocks whose first line says exactly this."""
    text = page.read_text(encoding="utf-8")
    return re.findall(rf"^```{re.escape(kind)}\n(.*?)^```", text, re.MULTILINE | re.DOTALL)


def write_files(page: Path, folder: Path) -> None:
    """Every `python file` of the page, where its first line says, in the project that the page takes for granted."""
    shown = {block.splitlines()[0].removeprefix("# "): block for block in blocks_of(page, "python file")}
    for name, text in {**PROJECTS.get(page.name, {}), **shown}.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")


def commands_of(page: Path) -> list[str]:
    """The lines that are written to be typed, without what is said about them."""
    lines = re.findall(r"^    (onthedot .*)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    return [line.split("  #")[0].strip() for line in lines]
