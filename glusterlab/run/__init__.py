"""A run: the plan, the loop over samples, validity, resume, progress."""
