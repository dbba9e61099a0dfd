"""What an apply decides before it writes anything."""
