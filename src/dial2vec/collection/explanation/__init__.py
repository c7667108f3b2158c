"""Why a dialogue has the vector that it has: how its speakers' turns match, and which turns made it."""
