"""Campaign against campaign, cell by cell."""
