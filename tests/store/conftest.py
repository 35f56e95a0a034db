"""Tests of processes run on a folder and on an object store."""

from tests.objects.places import address, machine, root, s3_server

__all__ = ["address", "machine", "root", "s3_server"]
