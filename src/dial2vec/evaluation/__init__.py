"""How good vectors are: the three labelled tasks, diagnostics, and the report that shows them."""
