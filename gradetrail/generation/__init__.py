"""Plans the calls of a spec and makes them; knows nothing of scorers."""
