"""Many machines, by Dask: fits, photos and answers on workers, the same bits whoever works. docs/scale.md."""
