"""The papers' experiments on public data; `topicture reproduce` finds them by entry points."""
