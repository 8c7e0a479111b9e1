"""The page: the verbs of the tool in a browser, on this machine only."""
