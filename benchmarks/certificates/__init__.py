"""What certificates cost, and how many are wrong."""
