"""What the page shows of a collection, a screenful at a time: cheap whatever the size of the collection."""
