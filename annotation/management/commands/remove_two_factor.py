"""`manage.py remove_two_factor EMAIL`: for somebody who lost both their authenticator app and their recovery codes."""

from __future__ import annotations

from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from annotation.access import two_factor
from annotation.errors import DomainError
from annotation.models import User


class Command(BaseCommand):
    help = (
        "Remove the second factor (authenticator app and recovery codes) of an account whose owner lost it. Make sure "
        "who asks: from then on the password alone signs in. The log of the site keeps it."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("email", help="the address that the account signs in with")

    def handle(self, *args: Any, **options: Any) -> None:
        user = User.objects.filter(email=options["email"].strip().lower()).first()
        if user is None:
            raise CommandError(f"There is no account {options['email']!r}.")
        try:
            two_factor.remove(user, actor=None)
        except DomainError as error:
            raise CommandError(error.message) from error
        self.stdout.write(
            f"{user.email} signs in without a second factor now. Ask them to set up a new one in their profile."
        )
