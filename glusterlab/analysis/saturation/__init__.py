"""What saturates: telemetry over time, limits, verdicts."""
