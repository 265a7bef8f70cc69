"""Joint training of edges and ordering by gradient (needs torch)."""
