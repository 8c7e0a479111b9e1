"""What earlier versions offered and nothing here needs any more, in terms of what there is now; see `moved`."""
