"""A real GlusterFS pool on one Linux machine: hosts in namespaces, disks on loop devices, both slowed to scale."""
