"""What a blend may take: memory, time to learn and time to answer, foreseen from sizes."""
