"""A campaign that can be given away: a copy in which hosts, addresses, users and serial numbers have neutral names."""
