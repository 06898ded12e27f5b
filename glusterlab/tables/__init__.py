"""From raw files to tidy Parquet tables."""

CHECKED = "GLUSTERLAB_CHECKED_TABLES"
"""Environment variable by which `reproduce` names to its notebooks a folder whose tables it has just brought up to
date: each of them would else look at every raw file again."""
