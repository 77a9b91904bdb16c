"""What runs real programs without and under vvarclock, compares them, and counts their clock calls."""
