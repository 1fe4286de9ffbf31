"""Parts of scripts/cluster."""
