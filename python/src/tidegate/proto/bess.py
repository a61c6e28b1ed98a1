"""The messages of ``bess.pb``; typed in ``bess.pyi``."""

from . import messages

globals().update(messages("bess.pb"))
