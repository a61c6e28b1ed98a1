"""Tests: of the package alone, and with a daemon that runs."""
