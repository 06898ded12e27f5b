"""A campaign that can be given away: a copy in which hosts, addresses, users and serial numbers have neutral names."""

from glusterlab.publish.copy import Published, publish
from glusterlab.publish.scan import Left

__all__ = ["Left", "Published", "publish"]
