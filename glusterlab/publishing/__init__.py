"""A campaign that can be given away: a copy in which hosts, addresses, users and serial numbers have neutral names."""

from glusterlab.publishing.copy import Published, publish
from glusterlab.publishing.names import Left, read_names

__all__ = ["Left", "Published", "publish", "read_names"]
