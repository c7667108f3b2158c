"""Scripts that write the traces beside them by the libraries of the tools; their versions stand in each script."""
