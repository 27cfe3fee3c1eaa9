"""A Django project whose views enqueue inside their own transactions, and whose tasks run nightly.

python manage.py migrate
python manage.py onthedot run            # a node, in a terminal of its own; as many as you like
python manage.py runserver

curl -X POST 'http://127.0.0.1:8000/orders/7'
curl 'http://127.0.0.1:8000/runs/RUN'
python manage.py onthedot schedules list
python manage.py test
"""

import os
import sys

from django.core.management import execute_from_command_line

if __name__ == "__main__":
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "mysite.settings")
    execute_from_command_line(sys.argv)
