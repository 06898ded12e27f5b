"""The raw store: campaigns and samples under raw/, their digests and records."""
