"""The report over all campaigns: pages that people explore, opened from a folder or a web server, without a request."""
