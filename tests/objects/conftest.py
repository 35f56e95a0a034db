"""Every test here may use an object store on loopback."""

from tests.objects.places import address, any_address, azure_server, machine, s3_server

__all__ = ["address", "any_address", "azure_server", "machine", "s3_server"]
