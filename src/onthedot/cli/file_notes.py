"""What a command says about lines of a file that were left out."""

from __future__ import annotations

import click

from onthedot.app.files import JobFile
from onthedot.cli.failures import show_error
from onthedot.cli.texts import visible


def exit_if_refused(job_file: JobFile) -> None:
    """Tell each line of a crontab that was left out, and let the exit code say that there were some: 2."""
    if job_file.refused:
        show_error(*(visible(problem) for problem in job_file.problems))
        raise click.exceptions.Exit(2)
