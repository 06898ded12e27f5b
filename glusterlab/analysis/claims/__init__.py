"""What a study states, held against what was measured."""
