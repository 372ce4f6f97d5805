"""What is played: each file makes the games of one kind of scenario."""
