"""Files that people look at: figures, tables, gallery."""
