"""Where it runs: connections to hosts, their facts and caches, volumes, and a pool on one machine to try it all on."""
