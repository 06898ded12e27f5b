"""From raw files to tidy Parquet tables."""
