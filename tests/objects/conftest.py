"""Every test here may use an object store on loopback."""

from tests.objects.places import address, machine, s3_server

__all__ = ["address", "machine", "s3_server"]
