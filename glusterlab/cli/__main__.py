"""`python -m glusterlab.cli`, for whoever has no ``glusterlab`` on the path."""

from glusterlab.cli import main

if __name__ == "__main__":
    main()
