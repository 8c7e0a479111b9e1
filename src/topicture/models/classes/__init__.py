"""Models whose topics are the words: DBA, EMM by likelihood and by max-margin."""
