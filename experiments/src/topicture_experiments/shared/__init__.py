"""What the experiments share: running, tables, claims."""
