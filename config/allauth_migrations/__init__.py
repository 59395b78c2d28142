"""Migrations of django-allauth's apps, its 18 joined into three: 0.4 seconds of a first start instead of 1.8. When its
next version changes its tables, `manage.py makemigrations` writes the step here."""
