"""How the rows nearest to queries are found: by all products, by sparse ones, by lists on disk, by workers."""
