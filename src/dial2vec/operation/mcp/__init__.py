"""Collections for agents, over the Model Context Protocol: tools that read, and answers that can be checked."""
