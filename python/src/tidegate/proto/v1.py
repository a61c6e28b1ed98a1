"""The messages of ``tidegate.v1``; typed in ``v1.pyi``."""

from . import messages

globals().update(messages("tidegate.v1"))
