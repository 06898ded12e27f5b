"""What a notebook opens."""
