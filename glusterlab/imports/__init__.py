"""Results that others measured become a campaign: a mapping says which part of the matrix each of their files is.

Nothing is imported here, because the command line loads this package at every start. `glusterlab.imports.sample` reads and
judges a sample; `glusterlab.imports.plan` and `glusterlab.imports.campaign` make a campaign.
"""
