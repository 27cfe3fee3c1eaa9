"""Where Celery's schedules are kept elsewhere: in the tables of django-celery-beat, in the hashes of redbeat."""
