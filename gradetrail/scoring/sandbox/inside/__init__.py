"""What runs inside the sandbox: the host sends it there, so it imports only itself and Python's own."""
