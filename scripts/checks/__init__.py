"""Parts of scripts/tidy and scripts/mutants."""
