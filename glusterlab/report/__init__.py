"""What commands show: tables for people, JSON for scripts, progress while they work; a module per command."""
