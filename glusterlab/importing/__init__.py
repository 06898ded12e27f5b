"""Results that others measured become a campaign: a mapping says which part of the matrix each of their files is."""
