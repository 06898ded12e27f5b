"""The commands, by what they are about; `glusterlab.cli` puts them together."""
