"""Explanation of a dialogue's vector: the shares of its turns, and how the turns of its speakers match."""
