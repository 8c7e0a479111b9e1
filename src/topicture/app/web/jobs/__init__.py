"""Long work: in processes of their own, with progress, an end on demand, and results that stay."""
