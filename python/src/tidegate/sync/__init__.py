"""The client that waits for each answer."""

from .client import Client

__all__ = ["Client"]
