"""bcd_nets."""
