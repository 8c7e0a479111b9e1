"""What the user has, in and out: photos with their tags, and the sample collection."""
