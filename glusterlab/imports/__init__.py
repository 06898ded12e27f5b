"""Results that others measured become a campaign: a mapping says which part of the matrix each of their files is.

This module stays empty, because the command line loads it at every start. `glusterlab.imports.sample` reads and judges
a sample; `glusterlab.imports.plan` and `glusterlab.imports.campaign` make a campaign.
"""
