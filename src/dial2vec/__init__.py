"""One vector per whole dialogue, speakers kept apart."""
