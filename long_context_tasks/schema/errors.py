"""The one error that users see."""


class InputError(ValueError):
    """Bad input from outside: a file, an option, a missing data set.

    The message names the file, the line or row where there is one, and the remedy. The command line prints it
    without a traceback; hosts show it as the cause of a failed task.
    """
