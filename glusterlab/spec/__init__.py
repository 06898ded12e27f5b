"""What to run, and on what: validated models of ``cluster.yaml`` and ``campaign.yaml``, and the matrix of cells."""

from glusterlab.spec.campaign import Campaign as Campaign
from glusterlab.spec.campaign import Repeats as Repeats
from glusterlab.spec.cell import Cell as Cell
from glusterlab.spec.cell import Layout as Layout
from glusterlab.spec.cluster import Cluster as Cluster
from glusterlab.spec.cluster import ScaleModel as ScaleModel
from glusterlab.spec.yaml import dump_yaml as dump_yaml
from glusterlab.spec.yaml import load_campaign as load_campaign
from glusterlab.spec.yaml import load_cluster as load_cluster
from glusterlab.spec.yaml import load_yaml as load_yaml
