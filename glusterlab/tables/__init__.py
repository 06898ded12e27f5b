"""From raw files to tidy Parquet tables."""

CHECKED = "GLUSTERLAB_CHECKED_TABLES"
"""Environment variable by which `reproduce` names a folder whose tables it has just brought up to date."""
