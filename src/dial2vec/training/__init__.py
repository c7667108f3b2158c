"""What every method trains on, the loop that does it, and what it leaves behind."""
